"""A repository whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from tests.support.graphs import calls, report

FILES = {
    "src/shop/__init__.py": """
        from .prices import Price, gross as with_tax
        from .store import *
        """,
    "src/shop/prices.py": """
        import json
        from dataclasses import dataclass

        def gross(net):
            return rounded(net)

        def rounded(value):
            return value

        def close():
            pass

        @dataclass
        class Price:
            net: float
            def total(self):
                return gross(self.net)
            @property
            def label(self):
                return self.describe()
            def describe(self):
                return json.dumps(self.net)
            @classmethod
            def zero(cls):
                return cls(0)
            @staticmethod
            def parse(text):
                return Price(float(text))

        class Reduced(Price):
            def describe(self):
                return super().describe()
        """,
    "src/shop/store.py": """
        import sqlite3
        from typing import Optional, Protocol
        from .prices import Price

        class Backend(Protocol):
            def save(self, price): ...

        class Memory:
            def __init__(self):
                self.rows = []
            def save(self, price):
                self.rows.append(price)
            def append(self, price):
                pass
            def __enter__(self):
                return self
            def __exit__(self, *args):
                pass

        class Database:
            def __init__(self, path):
                self.link = sqlite3.connect(path)
            def save(self, price):
                self.link.execute("insert")
            def execute(self, text):
                pass
            def close(self):
                self.link.close()

        class Store:
            def __init__(self, backend: Optional[Backend] = None):
                self.backend = backend or Memory()
                self._hooks = {}
            def on(self, name, hook):
                self._hooks[name] = hook
            def put(self, price: "Price"):
                price.total()
                self.backend.save(price)
                for hook in self._hooks.values():
                    hook(price)
            def get(self):
                return {}
        """,
    "app/main.py": """
        import sys
        import shop
        from shop import with_tax, Store, Price as Money
        from shop.store import Database, Memory
        from helpers import retry, cached, walk

        def announce(price):
            print(price.label)

        @retry
        def load():
            return shop.Price.zero()

        @cached(size=3)
        def slow(x):
            return with_tax(x)

        def gross(x):
            return x

        def main():
            store = Store(Database("x"))
            store.on("put", announce)
            store.put(load())
            with Memory() as memory:
                memory.save(None)
            money = Money.parse("1")
            money.total()
            {}.get("a")
            [].append(1)
            open("f").close()
            slow(1)
            for step in walk([first, second]):
                step()
            handlers = {"a": first, "b": second}
            handlers["a"]()
            getattr(store, "get")()
            if len(sys.argv) > 1:
                from helpers import first as gross
                gross()

        def first():
            pass

        def second():
            pass

        def shadow(announce):
            announce.save()

        def loops():
            current = None
            for item in (Store(), Database("y")):
                if current:
                    current.put(1)
                current = item

        if __name__ == "__main__":
            main()
        """,
    "app/helpers.py": """
        from functools import wraps

        def retry(f):
            @wraps(f)
            def inner(*args):
                return f(*args)
            return inner

        def cached(size):
            def decorate(f):
                def inner(x):
                    return f(x)
                return inner
            return decorate

        def walk(items):
            for item in items:
                yield item

        def first():
            pass
        """,
    # It is called as a library is, and is not that library.
    "scripts/json.py": """
        def dumps(value):
            pass
        """,
}

TRUTH = """
src.shop.prices.gross -> src.shop.prices.rounded
src.shop.prices.Price.total -> src.shop.prices.gross
src.shop.prices.Price.label -> src.shop.prices.Price.describe
src.shop.prices.Price.zero -> src.shop.prices.Price
src.shop.prices.Price.parse -> src.shop.prices.Price
src.shop.prices.Reduced.describe -> src.shop.prices.Price.describe
src.shop.store.Store.__init__ -> src.shop.store.Memory.__init__
src.shop.store.Store.put -> src.shop.prices.Price.total
src.shop.store.Store.put -> src.shop.store.Backend.save
src.shop.store.Store.put -> src.shop.store.Memory.save
src.shop.store.Store.put -> src.shop.store.Database.save
src.shop.store.Store.put -> app.main.announce
app.main.announce -> src.shop.prices.Price.label
app.main -> app.helpers.retry
app.main -> app.helpers.cached
app.main -> app.helpers.cached.decorate
app.main.load -> src.shop.prices.Price.zero
app.main.slow -> src.shop.prices.gross
app.main.main -> src.shop.store.Store.__init__
app.main.main -> src.shop.store.Database.__init__
app.main.main -> src.shop.store.Store.on
app.main.main -> src.shop.store.Store.put
app.main.main -> app.helpers.retry.inner
app.main.main -> src.shop.store.Memory.__init__
app.main.main -> src.shop.store.Memory.__enter__
app.main.main -> src.shop.store.Memory.__exit__
app.main.main -> src.shop.store.Memory.save
app.main.main -> src.shop.prices.Price.parse
app.main.main -> src.shop.prices.Price.total
app.main.main -> app.helpers.cached.decorate.inner
app.main.main -> app.helpers.walk
app.main.main -> app.main.first
app.main.main -> app.main.second
app.main.main -> src.shop.store.Store.get
app.main.main -> app.helpers.first
app.main.loops -> src.shop.store.Store.__init__
app.main.loops -> src.shop.store.Database.__init__
app.main.loops -> src.shop.store.Store.put
app.main -> app.main.main
app.helpers.retry.inner -> app.main.load
app.helpers.cached.decorate.inner -> app.main.slow
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()})
    truth = set(TRUTH.split("\n")) - {""}
    report("Python", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
