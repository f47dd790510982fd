"""A repository of Kotlin, and a little Java, whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import JVM
from tests.support.graphs import calls, report

FILES = {
    "shop/model/Item.kt": """
        package shop.model

        interface Priced {
            val price: Int
            fun taxed(): Int = price + Rates.of(this).tax(price)
        }

        open class Item(val name: String, cents: Int = 0) : Priced, Comparable<Item> {
            private val cents: Int = check(cents)
            override val price: Int get() = cents
            var label: String = ""
                get() = field.trim()
                set(value) { rename(value) }

            constructor(name: String, cents: String) : this(name, parse(cents))

            private fun check(cents: Int): Int = maxOf(cents, 0)
            private fun rename(name: String) {}
            fun ship() { Log.of(this).info(label) }
            override operator fun compareTo(other: Item) = price.compareTo(other.price)
            operator fun plus(other: Item): Bundle = Bundle(this, other)

            companion object {
                fun parse(text: String): Int = text.length
                fun free(name: String) = Item(name)
            }
        }

        object Rates {
            private val plain = Rate()
            fun of(what: Priced): Rate = if (what.price > 100) High() else plain
        }

        open class Rate {
            open fun tax(cents: Int): Int { return round(cents) }
            private fun round(x: Int) = kotlin.math.round(1.0).toInt()
        }

        class High : Rate() {
            override fun tax(cents: Int) = super.tax(cents) * 2
        }
        """,
    "shop/model/Bundle.kt": """
        package shop.model

        class Bundle(vararg parts: Item) : Item("bundle") {
            private val parts = mutableListOf<Item>()

            init {
                for (part in parts) add(part)
            }

            fun add(part: Item): Bundle {
                parts.add(part)
                return this
            }

            override val price: Int
                get() {
                    var sum = 0
                    for (part in parts) sum += part.price
                    return sum + super.price
                }

            fun times(count: Int) = count * price
            fun each(visit: (Item) -> Unit) = parts.forEach(visit)
            fun names(): List<String> = parts.filter { part -> part.priced() > 0 }.map { it.label }
            fun first(): Item? = parts.sortedBy(::key).firstOrNull()
            private fun key(part: Item) = part.taxed()
            fun ship(times: Int) { repeat(times) { ship() } }
        }

        // It is called as a library's is.
        class Log private constructor() {
            fun info(text: String) {}
            companion object {
                fun of(what: Any) = Log()
            }
        }

        fun Priced.priced(): Int = taxed()
        fun Item.ship(to: String) { ship(); to.shout() }
        internal fun String.shout() = uppercase()
        """,
    "shop/store/Store.kt": """
        package shop.store

        import shop.model.*
        import shop.model.Item as Goods

        fun interface Hook { fun run(item: Goods) }
        typealias Handler = (Goods) -> Unit

        abstract class Store : AutoCloseable {
            private var hook: Hook = Hook { noted(it) }
            private val handlers = mutableListOf<Handler>()
            private val listener: Listener? = Listener()

            protected abstract suspend fun save(item: Goods)
            protected open fun noted(what: Priced) { what.taxed() }

            suspend fun put(item: Goods): Store {
                valid(item)
                save(item)
                hook.run(item)
                for (handler in handlers) handler(item)
                listener?.put(item)
                return this
            }
            fun on(handler: Handler) = apply { handlers.add(handler) }
            fun hooked(hook: Hook): Store { this.hook = hook; return this }
            override fun close() {}

            private class Log { fun info(text: String) {} }
            private class Listener {
                fun put(item: Goods) { Log().info(item.name.shout()) }
            }
        }

        internal fun valid(item: Goods?) { if (item == null) throw Invalid("no item") }

        class Invalid(why: String) : RuntimeException(why)
        """,
    "shop/store/Stores.kt": """
        package shop.store

        import com.vendor.Client
        import com.vendor.Item
        import shop.model.Item as Ours

        enum class Kind {
            MEMORY { override fun open(path: String): Store = Memory() },
            DISK { override fun open(path: String): Store = Disk(path).opened() };

            abstract fun open(path: String): Store
        }

        class Memory : Store() {
            private val rows = HashMap<String, Ours>()
            override suspend fun save(item: Ours) { rows[item.label] = item }
            operator fun get(name: String): Ours? = rows[name]
            fun sum() { for ((_, row) in rows) row.ship() }
        }

        class Disk(private val path: String) : Store() {
            fun opened(): Disk { flush(); return this }
            override suspend fun save(item: Ours) = flush()
            override fun close() { super.close(); flush() }
            private fun flush() {
                fun sync() { done() }
                sync()
            }
            private fun sync() {}
            companion object { private fun done() {} }
        }

        object Stores {
            private val known = mutableMapOf<String, Store>()
            fun open(path: String): Store = known.getOrPut(path) { Kind.valueOf(path).open(path) }
            fun outside(item: Item, client: Client) { item.ship(); client.opened() }
        }
        """,
    "app/Old.java": """
        package app;

        import shop.model.Item;
        import shop.store.Store;

        public class Old {
            private final Item item = Item.Companion.free("old");
            public static Old make(Store store) { store.close(); return new Old(); }
            public void ship() { item.ship(); item.getLabel(); }
        }
        """,
    "app/Main.kt": """
        package app

        import shop.model.Bundle
        import shop.model.Item
        import shop.model.Priced
        import shop.model.ship
        import shop.store.Memory
        import shop.store.Store
        import shop.store.Stores

        data class Line(val item: Item, val count: Int = 1) {
            val total: Int get() = count * item.price
            companion object { fun of(item: Item) = Line(item) }
        }

        class Builder {
            private val lines = mutableListOf<Line>()
            private var make: (Item) -> Line = Line::of
            fun with(item: Item): Builder { lines += make(item); return this }
            fun build() = Order(lines)
        }

        class Order(private val lines: List<Line>) {
            val first by lazy { lines.first() }
            fun total() = lines.sumOf { it.total }
        }

        class Main {
            private val store = Stores.open("MEMORY")

            init { store.on(this::announce).hooked { print(it) } }

            private fun announce(item: Item) { item.compareTo(item); print(item) }
            private fun print(what: Priced) { what.taxed() }
            private fun print(text: String, vararg more: Any) { println(text) }

            suspend fun run(what: Any, items: Collection<Item>): Int {
                val order = Builder().with(Item("a")).with(Bundle()).build()
                order.first.item.ship("home")
                items.forEach { store.put(it).close() }
                if (what is Bundle && what.times(2) > 0) what.each(::announce)
                val total = when (what) {
                    is Line -> what.total
                    is Store -> { what.close(); 1 }
                    else -> 0
                }
                val print = { helper() }
                print()
                (what as? Memory)?.sum()
                val (item, _) = Line(Item("b", 1))
                item.label = "x"
                val job = object : Runnable {
                    override fun run() { helper() }
                }
                job.run()
                with(Old.make(store)) { ship() }
                return total + order.total()
            }

            private fun helper() {}
        }

        fun unknown(store: com.vendor.Store) { store.put(null) }

        suspend fun main(args: Array<String>) { Main().run(args, listOf()) }
        """,
}

TRUTH = """
shop/model/Item.Priced.taxed -> shop/model/Item.Priced.price
shop/model/Item.Priced.taxed -> shop/model/Item.Item.price
shop/model/Item.Priced.taxed -> shop/model/Bundle.Bundle.price
shop/model/Item.Priced.taxed -> shop/model/Item.Rates.of
shop/model/Item.Priced.taxed -> shop/model/Item.Rate.tax
shop/model/Item.Priced.taxed -> shop/model/Item.High.tax
shop/model/Item.Item -> shop/model/Item.Item.check
shop/model/Item.Item.label -> shop/model/Item.Item.rename
shop/model/Item.Item.constructor -> shop/model/Item.Item.Companion.parse
shop/model/Item.Item.constructor -> shop/model/Item.Item.Item
shop/model/Item.Item.ship -> shop/model/Bundle.Log.Companion.of
shop/model/Item.Item.ship -> shop/model/Bundle.Log.info
shop/model/Item.Item.ship -> shop/model/Item.Item.label
shop/model/Item.Item.compareTo -> shop/model/Item.Item.price
shop/model/Item.Item.compareTo -> shop/model/Bundle.Bundle.price
shop/model/Item.Item.plus -> shop/model/Bundle.Bundle.Bundle
shop/model/Item.Item.Companion.free -> shop/model/Item.Item.Item
shop/model/Item.Rates -> shop/model/Item.Rate
shop/model/Item.Rates.of -> shop/model/Item.Priced.price
shop/model/Item.Rates.of -> shop/model/Item.Item.price
shop/model/Item.Rates.of -> shop/model/Bundle.Bundle.price
shop/model/Item.Rates.of -> shop/model/Item.High
shop/model/Item.Rate.tax -> shop/model/Item.Rate.round
shop/model/Item.High -> shop/model/Item.Rate
shop/model/Item.High.tax -> shop/model/Item.Rate.tax
shop/model/Bundle.Bundle -> shop/model/Item.Item.Item
shop/model/Bundle.Bundle -> shop/model/Bundle.Bundle.add
shop/model/Bundle.Bundle.price -> shop/model/Bundle.Bundle.price
shop/model/Bundle.Bundle.price -> shop/model/Item.Item.price
shop/model/Bundle.Bundle.times -> shop/model/Bundle.Bundle.price
shop/model/Bundle.Bundle.each -> app/Main.Main.announce
shop/model/Bundle.Bundle.names -> shop/model/Bundle.Bundle.names.<anonymous1>
shop/model/Bundle.Bundle.names -> shop/model/Bundle.Bundle.names.<anonymous2>
shop/model/Bundle.Bundle.names.<anonymous1> -> shop/model/Bundle.priced
shop/model/Bundle.Bundle.names.<anonymous2> -> shop/model/Item.Item.label
shop/model/Bundle.Bundle.first -> shop/model/Bundle.Bundle.key
shop/model/Bundle.Bundle.key -> shop/model/Item.Priced.taxed
shop/model/Bundle.Bundle.ship -> shop/model/Bundle.Bundle.ship.<anonymous1>
shop/model/Bundle.Bundle.ship.<anonymous1> -> shop/model/Item.Item.ship
shop/model/Bundle.Log.Companion.of -> shop/model/Bundle.Log.Log
shop/model/Bundle.priced -> shop/model/Item.Priced.taxed
shop/model/Bundle.ship -> shop/model/Item.Item.ship
shop/model/Bundle.ship -> shop/model/Bundle.shout
shop/store/Store.Store -> shop/store/Store.Store.Listener
shop/store/Store.Store.<anonymous1> -> shop/store/Store.Store.noted
shop/store/Store.Store.noted -> shop/model/Item.Priced.taxed
shop/store/Store.Store.put -> shop/store/Store.valid
shop/store/Store.Store.put -> shop/store/Store.Store.save
shop/store/Store.Store.put -> shop/store/Stores.Memory.save
shop/store/Store.Store.put -> shop/store/Stores.Disk.save
shop/store/Store.Store.put -> shop/store/Store.Hook.run
shop/store/Store.Store.put -> shop/store/Store.Store.<anonymous1>
shop/store/Store.Store.put -> app/Main.Main.<anonymous1>
shop/store/Store.Store.put -> app/Main.Main.announce
shop/store/Store.Store.put -> shop/store/Store.Store.Listener.put
shop/store/Store.Store.on -> shop/store/Store.Store.on.<anonymous1>
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.Log
shop/store/Store.Store.Listener.put -> shop/store/Store.Store.Log.info
shop/store/Store.Store.Listener.put -> shop/model/Bundle.shout
shop/store/Store.valid -> shop/store/Store.Invalid.Invalid
shop/store/Stores.Kind.<MEMORY>.open -> shop/store/Stores.Memory
shop/store/Stores.Kind.<DISK>.open -> shop/store/Stores.Disk.Disk
shop/store/Stores.Kind.<DISK>.open -> shop/store/Stores.Disk.opened
shop/store/Stores.Memory -> shop/store/Store.Store
shop/store/Stores.Memory.save -> shop/model/Item.Item.label
shop/store/Stores.Memory.sum -> shop/model/Item.Item.ship
shop/store/Stores.Disk -> shop/store/Store.Store
shop/store/Stores.Disk.opened -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.save -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.close -> shop/store/Store.Store.close
shop/store/Stores.Disk.close -> shop/store/Stores.Disk.flush
shop/store/Stores.Disk.flush -> shop/store/Stores.Disk.flush.sync
shop/store/Stores.Disk.flush.sync -> shop/store/Stores.Disk.Companion.done
shop/store/Stores.Stores.open -> shop/store/Stores.Stores.open.<anonymous1>
shop/store/Stores.Stores.open.<anonymous1> -> shop/store/Stores.Kind.open
shop/store/Stores.Stores.open.<anonymous1> -> shop/store/Stores.Kind.<MEMORY>.open
shop/store/Stores.Stores.open.<anonymous1> -> shop/store/Stores.Kind.<DISK>.open
app/Old.Old -> shop/model/Item.Item.Companion.free
app/Old.Old.make -> app/Old.Old
app/Old.Old.make -> shop/store/Store.Store.close
app/Old.Old.make -> shop/store/Stores.Disk.close
app/Old.Old.ship -> shop/model/Item.Item.ship
app/Old.Old.ship -> shop/model/Item.Item.label
app/Main.Line.total -> shop/model/Item.Item.price
app/Main.Line.total -> shop/model/Bundle.Bundle.price
app/Main.Line.Companion.of -> app/Main.Line.Line
app/Main.Builder.with -> app/Main.Line.Companion.of
app/Main.Builder.build -> app/Main.Order.Order
app/Main.Order -> app/Main.Order.<anonymous1>
app/Main.Order.total -> app/Main.Order.total.<anonymous1>
app/Main.Order.total.<anonymous1> -> app/Main.Line.total
app/Main.Main -> shop/store/Stores.Stores.open
app/Main.Main -> shop/store/Store.Store.on
app/Main.Main -> shop/store/Store.Store.hooked
app/Main.Main.<anonymous1> -> app/Main.Main.print
app/Main.Main.announce -> shop/model/Item.Item.compareTo
app/Main.Main.announce -> app/Main.Main.print
app/Main.Main.print -> shop/model/Item.Priced.taxed
app/Main.Main.run -> app/Main.Builder
app/Main.Main.run -> app/Main.Builder.with
app/Main.Main.run -> app/Main.Builder.build
app/Main.Main.run -> shop/model/Item.Item.Item
app/Main.Main.run -> shop/model/Bundle.Bundle.Bundle
app/Main.Main.run -> shop/model/Bundle.ship
app/Main.Main.run -> app/Main.Main.run.<anonymous1>
app/Main.Main.run.<anonymous1> -> shop/store/Store.Store.put
app/Main.Main.run.<anonymous1> -> shop/store/Store.Store.close
app/Main.Main.run.<anonymous1> -> shop/store/Stores.Disk.close
app/Main.Main.run -> shop/model/Bundle.Bundle.times
app/Main.Main.run -> shop/model/Bundle.Bundle.each
app/Main.Main.run -> app/Main.Line.total
app/Main.Main.run -> shop/store/Store.Store.close
app/Main.Main.run -> shop/store/Stores.Disk.close
app/Main.Main.run -> app/Main.Main.run.<anonymous2>
app/Main.Main.run.<anonymous2> -> app/Main.Main.helper
app/Main.Main.run -> shop/store/Stores.Memory.sum
app/Main.Main.run -> app/Main.Line.Line
app/Main.Main.run -> shop/model/Item.Item.label
app/Main.Main.run -> app/Main.Main.run.<anonymous3>.run
app/Main.Main.run.<anonymous3>.run -> app/Main.Main.helper
app/Main.Main.run -> app/Old.Old.make
app/Main.Main.run -> app/Main.Main.run.<anonymous4>
app/Main.Main.run.<anonymous4> -> app/Old.Old.ship
app/Main.Main.run -> app/Main.Order.total
app/Main.main -> app/Main.Main
app/Main.main -> app/Main.Main.run
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, JVM)
    truth = set(TRUTH.split("\n")) - {""}
    report("Kotlin", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
