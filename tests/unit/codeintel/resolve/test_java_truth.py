"""A repository of Java whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import JVM
from tests.support.graphs import calls, report

FILES = {
    "shop/model/Priced.java": """
        package shop.model;

        public interface Priced {
            int price();
            default int taxed() { return price() + Rates.of(this).tax(price()); }
        }
        """,
    "shop/model/Rates.java": """
        package shop.model;

        class Rates {
            static final Rates HIGH = new Rates(2) {
                @Override int tax(int cents) { return super.tax(cents) * 2; }
            };
            private static final Rates PLAIN = new Rates(0);
            private final int percent;

            Rates(int percent) { this.percent = percent; }
            static Rates of(Priced what) { return what.price() > 100 ? HIGH : PLAIN; }
            int tax(int cents) { return round(cents * percent); }
            private int round(int x) { return Math.round(x); }
        }
        """,
    "shop/model/Item.java": """
        package shop.model;

        public class Item implements Priced, Comparable<Item> {
            private final String name;
            private final int cents;

            public Item(String name) { this(name, 0); }
            public Item(String name, int cents) {
                super();
                this.name = name;
                this.cents = check(cents);
            }
            private static int check(int cents) { return Math.max(cents, 0); }
            public int price() { return cents; }
            public String name() { return name.trim(); }
            public void ship() { Log.of(Item.class).info(name()); }
            @Override public int compareTo(Item other) { return Integer.compare(price(), other.price()); }
            static String trim(String text) { return text; }
        }
        """,
    "shop/model/Bundle.java": """
        package shop.model;

        import java.util.ArrayList;
        import java.util.List;
        import java.util.function.Consumer;

        public class Bundle extends Item {
            private final List<Item> parts = new ArrayList<>();

            public Bundle(Item... parts) {
                super("bundle");
                for (Item part : parts) add(part);
            }
            public Bundle add(Item part) { parts.add(part); return this; }
            @Override public int price() {
                int sum = 0;
                for (var part : parts) sum += part.price();
                return sum + super.price();
            }
            public int price(int times) { return times * this.price(); }
            public void each(Consumer<Item> visit) { parts.forEach(visit); }
            public int names() { return parts.stream().map(Item::name).filter(String::isEmpty).toList().size(); }
        }
        """,
    "shop/model/Log.java": """
        package shop.model;

        // It is called as a library's is.
        class Log {
            static Log of(Class<?> of) { return new Log(); }
            void info(String text) {}
        }
        """,
    "shop/store/Store.java": """
        package shop.store;

        import shop.model.*;
        import static shop.store.Checks.*;
        import static shop.store.Checks.named;

        public abstract class Store {
            private Hook hook = item -> noted(item);
            protected Listener listener;

            protected abstract void save(Item item);
            protected void noted(Priced what) { what.taxed(); }

            public final Store put(Item item) {
                valid(item);
                named(item.name());
                save(item);
                hook.run(item);
                if (listener != null) listener.put(item, this);
                return this;
            }
            public Store on(Hook hook) { this.hook = hook; return this; }
            public void close() {}

            /** A nested interface, and a class of a name that another package has too. */
            public interface Hook { void run(Item item); }
            static class Log { void info(String text) { } }
            class Listener {
                void put(Item item, Store from) { save(item); from.close(); new Log().info(item.name()); }
            }
        }
        """,
    "shop/store/Checks.java": """
        package shop.store;

        import shop.model.Item;

        final class Checks {
            private Checks() {}
            static void valid(Item item) { if (item == null) throw new Invalid("no item"); }
            static void named(String name) { name.isBlank(); }
            static class Invalid extends RuntimeException {
                Invalid(String why) { super(why); }
            }
        }
        """,
    "shop/store/Stores.java": """
        package shop.store;

        import com.vendor.Item;
        import java.util.HashMap;
        import java.util.Map;

        public enum Stores {
            MEMORY { @Override Store open(String path) { return new Memory(); } },
            DISK { @Override Store open(String path) { return new Disk(path).opened(); } };

            private static final Map<String, Store> KNOWN = new HashMap<>();
            abstract Store open(String path);

            public static Store named(String name) {
                Store known = KNOWN.get(name);
                if (known != null) { known.close(); return known; }
                Stores kind = Stores.valueOf(name);
                KNOWN.put(name, kind.open(name));
                return KNOWN.computeIfAbsent(name, key -> kind.open(key));
            }
            static void vendor(Item item) { item.ship(); item.price(); }
        }

        class Memory extends Store {
            @Override protected void save(shop.model.Item item) { item.price(); }
        }

        class Disk extends Store implements AutoCloseable {
            private final String path;
            Disk(String path) { this.path = path; }
            Disk opened() { flush(); return this; }
            @Override protected void save(shop.model.Item item) { flush(); }
            @Override public void close() { super.close(); flush(); }
            private void flush() { Runnable flush = this::sync; flush.run(); }
            private void sync() {}
        }
        """,
    "app/Main.java": """
        package app;

        import java.util.*;
        import java.util.function.Function;
        import shop.model.Bundle;
        import shop.model.Item;
        import shop.model.Priced;
        import shop.store.Store;
        import shop.store.Stores;

        public class Main {
            record Line(Item item, int count) {
                Line { Objects.requireNonNull(item); }
                Line(Item item) { this(item, 1); }
                int total() { return count * item().price(); }
                static Line of(Item item) { return new Line(item); }
            }

            static class Builder {
                private final List<Line> lines = new ArrayList<>();
                private Function<Item, Line> make = Line::of;
                Builder with(Item item) { lines.add(make.apply(item)); return this; }
                Builder by(Function<Item, Line> make) { this.make = make; return this; }
                Order build() { return new Order(lines); }
            }

            static class Order {
                private final List<Line> lines;
                Order(List<Line> lines) { this.lines = lines; }
                int total() { return lines.stream().mapToInt(Line::total).sum(); }
                Optional<Line> first() { return lines.stream().findFirst(); }
            }

            private final Store store = Stores.named("MEMORY");
            private int put;

            Main() { store.on(this::announce); }

            void announce(Item item) { item.compareTo(item); print(item); }
            void print(Priced what) { what.taxed(); }
            void print(String text, Object... more) { System.out.println(text); }

            int run(Object what, Collection<? extends Item> items) {
                Order order = new Builder().with(new Item("a")).with(new Bundle()).build();
                var first = order.first().map(Line::item).orElseThrow();
                first.ship();
                for (Item each : items) store.put(each).close();
                if (what instanceof Bundle bundle && bundle.price(2) > 0) bundle.each(this::announce);
                int sum = switch (what) {
                    case Line line -> line.total();
                    case Store other -> { other.close(); yield 1; }
                    default -> 0;
                };
                Thread worker = new Thread() {
                    @Override public void run() { print("run", 1, 2); helper(); }
                    private void helper() {}
                };
                worker.start();
                Comparator<Item> order2 = Comparator.comparing(Item::name);
                class Local { void ship() { store.close(); } }
                new Local().ship();
                ((Item) what).ship();
                Item[] array = { new Item("b", 1) };
                array[0].name();
                return sum + order.total();
            }

            static void unknown(com.vendor.Store store) { store.put(null); store.close(); }

            public static void main(String[] args) { new Main().run(args, List.of()); }
        }
        """,
}

TRUTH = """
shop/model/Priced.Priced.taxed -> shop/model/Priced.Priced.price
shop/model/Priced.Priced.taxed -> shop/model/Item.Item.price
shop/model/Priced.Priced.taxed -> shop/model/Bundle.Bundle.price
shop/model/Priced.Priced.taxed -> shop/model/Rates.Rates.of
shop/model/Priced.Priced.taxed -> shop/model/Rates.Rates.tax
shop/model/Priced.Priced.taxed -> shop/model/Rates.Rates.<anonymous1>.tax
shop/model/Rates.Rates -> shop/model/Rates.Rates.Rates
shop/model/Rates.Rates.of -> shop/model/Priced.Priced.price
shop/model/Rates.Rates.of -> shop/model/Item.Item.price
shop/model/Rates.Rates.of -> shop/model/Bundle.Bundle.price
shop/model/Rates.Rates.tax -> shop/model/Rates.Rates.round
shop/model/Rates.Rates.<anonymous1>.tax -> shop/model/Rates.Rates.tax
shop/model/Item.Item.Item -> shop/model/Item.Item.Item
shop/model/Item.Item.Item -> shop/model/Item.Item.check
shop/model/Item.Item.ship -> shop/model/Log.Log.of
shop/model/Item.Item.ship -> shop/model/Log.Log.info
shop/model/Item.Item.ship -> shop/model/Item.Item.name
shop/model/Item.Item.compareTo -> shop/model/Item.Item.price
shop/model/Item.Item.compareTo -> shop/model/Bundle.Bundle.price
shop/model/Bundle.Bundle.Bundle -> shop/model/Item.Item.Item
shop/model/Bundle.Bundle.Bundle -> shop/model/Bundle.Bundle.add
shop/model/Bundle.Bundle.price -> shop/model/Item.Item.price
shop/model/Bundle.Bundle.price -> shop/model/Bundle.Bundle.price
shop/model/Bundle.Bundle.each -> app/Main.Main.announce
shop/model/Bundle.Bundle.names -> shop/model/Item.Item.name
shop/model/Log.Log.of -> shop/model/Log.Log
shop/store/Store.Store.noted -> shop/model/Priced.Priced.taxed
shop/store/Store.Store.<anonymous1> -> shop/store/Store.Store.noted
shop/store/Store.Store.put -> shop/store/Checks.Checks.valid
shop/store/Store.Store.put -> shop/store/Checks.Checks.named
shop/store/Store.Store.put -> shop/model/Item.Item.name
shop/store/Store.Store.put -> shop/store/Store.Store.save
shop/store/Store.Store.put -> shop/store/Stores.Memory.save
shop/store/Store.Store.put -> shop/store/Stores.Disk.save
shop/store/Store.Store.put -> shop/store/Store.Store.Hook.run
shop/store/Store.Store.put -> shop/store/Store.Store.<anonymous1>
shop/store/Store.Store.put -> app/Main.Main.announce
shop/store/Store.Store.put -> shop/store/Store.Store.Listener.put
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.save
shop/store/Store.Store.Listener.put -> shop/store/Stores.Memory.save
shop/store/Store.Store.Listener.put -> shop/store/Stores.Disk.save
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.close
shop/store/Store.Store.Listener.put -> shop/store/Stores.Disk.close
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.Log
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.Log.info
shop/store/Store.Store.Listener.put -> shop/model/Item.Item.name
shop/store/Checks.Checks.valid -> shop/store/Checks.Checks.Invalid.Invalid
shop/store/Stores.Stores.<MEMORY>.open -> shop/store/Stores.Memory
shop/store/Stores.Stores.<DISK>.open -> shop/store/Stores.Disk.Disk
shop/store/Stores.Stores.<DISK>.open -> shop/store/Stores.Disk.opened
shop/store/Stores.Stores.named -> shop/store/Store.Store.close
shop/store/Stores.Stores.named -> shop/store/Stores.Disk.close
shop/store/Stores.Stores.named -> shop/store/Stores.Stores.open
shop/store/Stores.Stores.named -> shop/store/Stores.Stores.<MEMORY>.open
shop/store/Stores.Stores.named -> shop/store/Stores.Stores.<DISK>.open
shop/store/Stores.Stores.named.<anonymous1> -> shop/store/Stores.Stores.open
shop/store/Stores.Stores.named.<anonymous1> -> shop/store/Stores.Stores.<MEMORY>.open
shop/store/Stores.Stores.named.<anonymous1> -> shop/store/Stores.Stores.<DISK>.open
shop/store/Stores.Stores.named -> shop/store/Stores.Stores.named.<anonymous1>
shop/store/Stores.Memory.save -> shop/model/Item.Item.price
shop/store/Stores.Memory.save -> shop/model/Bundle.Bundle.price
shop/store/Stores.Disk.opened -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.save -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.close -> shop/store/Store.Store.close
shop/store/Stores.Disk.close -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.flush -> shop/store/Stores.Disk.sync
app/Main.Main.Line.Line -> app/Main.Main.Line.Line
app/Main.Main.Line.total -> shop/model/Item.Item.price
app/Main.Main.Line.total -> shop/model/Bundle.Bundle.price
app/Main.Main.Line.of -> app/Main.Main.Line.Line
app/Main.Main.Builder.with -> app/Main.Main.Line.of
app/Main.Main.Builder.build -> app/Main.Main.Order.Order
app/Main.Main.Order.total -> app/Main.Main.Line.total
app/Main.Main -> shop/store/Stores.Stores.named
app/Main.Main.Main -> shop/store/Store.Store.on
app/Main.Main.announce -> shop/model/Item.Item.compareTo
app/Main.Main.announce -> app/Main.Main.print
app/Main.Main.print -> shop/model/Priced.Priced.taxed
app/Main.Main.run -> app/Main.Main.Builder
app/Main.Main.run -> app/Main.Main.Builder.with
app/Main.Main.run -> app/Main.Main.Builder.build
app/Main.Main.run -> shop/model/Item.Item.Item
app/Main.Main.run -> shop/model/Bundle.Bundle.Bundle
app/Main.Main.run -> app/Main.Main.Order.first
app/Main.Main.run -> shop/model/Item.Item.ship
app/Main.Main.run -> shop/store/Store.Store.put
app/Main.Main.run -> shop/store/Store.Store.close
app/Main.Main.run -> shop/store/Stores.Disk.close
app/Main.Main.run -> shop/model/Bundle.Bundle.price
app/Main.Main.run -> shop/model/Bundle.Bundle.each
app/Main.Main.run -> app/Main.Main.Line.total
app/Main.Main.run -> app/Main.Main.run.Local
app/Main.Main.run -> app/Main.Main.run.Local.ship
app/Main.Main.run -> shop/model/Item.Item.name
app/Main.Main.run -> app/Main.Main.Order.total
app/Main.Main.run.<anonymous1>.run -> app/Main.Main.print
app/Main.Main.run.<anonymous1>.run -> app/Main.Main.run.<anonymous1>.helper
app/Main.Main.run.Local.ship -> shop/store/Store.Store.close
app/Main.Main.run.Local.ship -> shop/store/Stores.Disk.close
app/Main.Main.main -> app/Main.Main.Main
app/Main.Main.main -> app/Main.Main.run
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, JVM)
    truth = set(TRUTH.split("\n")) - {""}
    report("Java", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
