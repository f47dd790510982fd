"""A repository of C# whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import CSHARP
from tests.support.graphs import calls, report

FILES = {
    "Model/Item.cs": """
        using System;

        namespace Shop.Model
        {
            public interface IPriced
            {
                int Price { get; }
                int Taxed() => Price + Rates.Of(this).Tax(Price);
            }

            public class Item : IPriced, IComparable<Item>
            {
                private readonly int cents;

                public Item(string name) : this(name, 0) { }
                public Item(string name, int cents)
                {
                    Name = name;
                    this.cents = Check(cents);
                }
                public string Name { get; init; }
                public virtual int Price => cents;
                public string Label
                {
                    get { return Name.Trim(); }
                    set { Rename(value); }
                }
                private static int Check(int cents) => Math.Max(cents, 0);
                private void Rename(string name) { }
                public void Ship() => Log.Of(this).Info(Label);
                public int CompareTo(Item other) => Price.CompareTo(other.Price);
                public static Item operator +(Item one, Item other) => new Bundle(one, other);
            }
        }
        """,
    "Model/Bundle.cs": """
        using System;
        using System.Collections.Generic;
        using System.Linq;

        namespace Shop.Model;

        public sealed partial class Bundle : Item
        {
            private readonly List<Item> parts = new();

            public Bundle(params Item[] parts) : base("bundle")
            {
                foreach (var part in parts) Add(part);
            }
            public Bundle Add(Item part) { parts.Add(part); return this; }
            public override int Price
            {
                get
                {
                    int sum = 0;
                    foreach (Item part in parts) sum += part.Price;
                    return sum + base.Price;
                }
            }
            public int Times(int times) => times * Price;
            public void Each(Action<Item> visit) => parts.ForEach(visit);
        }

        internal static class Rates
        {
            private static readonly Rate Plain = new Rate();
            public static Rate Of(IPriced what) => what.Price > 100 ? new High() : Plain;
        }

        class Rate { public virtual int Tax(int cents) => Round(cents); private int Round(int x) => (int)Math.Round(1.0); }
        class High : Rate { public override int Tax(int cents) { return base.Tax(cents) * 2; } }
        """,
    "Model/Bundle.Names.cs": """
        using System.Collections.Generic;
        using System.Linq;

        namespace Shop.Model;

        partial class Bundle
        {
            public IEnumerable<string> Names() => parts.Where(p => p.CompareTo(this) > 0).Select(p => p.Label).ToList();
            public Item First() => parts.OrderBy(Key).FirstOrDefault();
            private int Key(Item part) => part.Priced();
            private void Ship(int times) { Ship(); }
        }

        // It is called as a library's is.
        class Log
        {
            public static Log Of(object what) => new Log();
            public void Info(string text) { }
        }
        """,
    "Model/Extensions.cs": """
        namespace Shop.Model
        {
            public static class Extensions
            {
                public static int Priced(this IPriced what) => what.Taxed();
                public static void Ship(this Item item, string where) { item.Ship(); }
                public static string Shout(this string text) => text.ToUpper();
            }
        }
        """,
    "Store/Store.cs": """
        using System;
        using System.Collections.Generic;
        using System.Threading.Tasks;
        using Shop.Model;
        using static Shop.Store.Checks;

        namespace Shop.Store
        {
            public delegate void Hook(Item item);

            public abstract class StoreBase : IDisposable
            {
                public event EventHandler<Item> Changed;
                protected Hook hook;
                private Listener listener = new Listener();

                protected abstract Task SaveAsync(Item item);

                public async Task<StoreBase> PutAsync(Item item)
                {
                    Valid(item);
                    await SaveAsync(item);
                    hook(item);
                    Changed?.Invoke(this, item);
                    listener?.Put(item);
                    return this;
                }
                public StoreBase On(Hook hook) { this.hook = hook; return this; }
                public virtual void Dispose() { }

                private class Log { public void Info(string text) { } }
                private class Listener
                {
                    internal void Put(Item item) { new Log().Info(item.Label.Shout()); }
                }
            }

            static class Checks
            {
                public static void Valid(Item item) { if (item == null) throw new Invalid("no item"); }
            }

            class Invalid : Exception { public Invalid(string why) : base(why) { } }
        }
        """,
    "Store/Stores.cs": """
        using System.Collections.Generic;
        using System.Threading.Tasks;
        using Vendor;
        using Goods = Shop.Model.Item;

        namespace Shop.Store
        {
            public class Memory : StoreBase
            {
                private readonly Dictionary<string, Goods> rows = new Dictionary<string, Goods>();
                protected override Task SaveAsync(Goods item) { rows[item.Label] = item; return Task.CompletedTask; }
                public Goods Get(string name) => rows.TryGetValue(name, out var found) ? found : null;
                public Goods this[string name] => Get(name);
                public void Sum() { foreach (var pair in rows) pair.Value.Ship("here"); }
            }

            public class Disk : StoreBase
            {
                private readonly string path;
                public Disk(string path) => this.path = path;
                public Disk Opened() { Flush(); return this; }
                protected override async Task SaveAsync(Goods item) { await Task.Run(Sync); Flush(); }
                public override void Dispose() { base.Dispose(); Flush(); }
                private void Flush() { Sync(); void Sync() { Done(); } }
                private void Sync() { }
                private static void Done() { }
            }

            static class Stores
            {
                public static StoreBase Open(string path) => path switch
                {
                    "" => new Memory(),
                    _ => new Disk(path).Opened(),
                };
                public static void Outside(Vendor.Item item, Client client) { item.Ship(); client.Opened(); }
            }
        }
        """,
    "App/Program.cs": """
        using System;
        using System.Collections.Generic;
        using System.Linq;
        using System.Threading.Tasks;
        using Shop.Model;
        using Shop.Store;

        namespace App
        {
            record Line(Item Item, int Count)
            {
                public int Total => Count * Item.Price;
                public static Line Of(Item item) => new(item, 1);
            }

            class Builder(int most)
            {
                private readonly List<Line> lines = new();
                private Func<Item, Line> make = Line.Of;
                public Builder With(Item item) { lines.Add(make(item)); return this; }
                public Order Build() => new Order(lines) { Most = Limit(most) };
                private static int Limit(int most) => most;
            }

            class Order
            {
                private readonly IReadOnlyList<Line> lines;
                public Order(IReadOnlyList<Line> lines) { this.lines = lines; }
                public int Most { get; set; }
                public int Total() => lines.Sum(line => line.Total);
                public Line First() => lines.First();
            }

            class Program
            {
                private readonly StoreBase store = Stores.Open("x");

                Program()
                {
                    store.On(Announce);
                    store.Changed += OnChanged;
                }
                void Announce(Item item) { item.CompareTo(item); Print(item); }
                void OnChanged(object sender, Item item) => item.Ship();
                void Print(IPriced what) { what.Taxed(); }
                void Print(string text, params object[] more) { Console.WriteLine(text); }

                async Task<int> Run(object what, IEnumerable<Item> items)
                {
                    var order = new Builder(3).With(new Item("a")).With(new Bundle()).Build();
                    order.First().Item.Ship();
                    foreach (var each in items) (await store.PutAsync(each)).Dispose();
                    if (what is Bundle bundle && bundle.Times(2) > 0) bundle.Each(Announce);
                    var total = what switch { Line line => line.Total, _ => 0 };
                    Action print = () => Print("run", 1, 2);
                    print();
                    ((Item)what).Label = "x";
                    (what as Memory)?.Sum();
                    Item[] array = { new Item("b", 1) };
                    Console.WriteLine(array[0].Label);
                    using var disk = new Disk("y");
                    disk.Opened();
                    return total + order.Total();
                }

                static void Unknown(Vendor.StoreBase store) { store.PutAsync(null); }

                static async Task Main(string[] args) => await new Program().Run(args, new List<Item>());
            }
        }
        """,
}

TRUTH = """
Model/Item.Shop.Model.IPriced.Taxed -> Model/Item.Shop.Model.IPriced.Price
Model/Item.Shop.Model.IPriced.Taxed -> Model/Item.Shop.Model.Item.Price
Model/Item.Shop.Model.IPriced.Taxed -> Model/Bundle.Shop.Model.Bundle.Price
Model/Item.Shop.Model.IPriced.Taxed -> Model/Bundle.Shop.Model.Rates.Of
Model/Item.Shop.Model.IPriced.Taxed -> Model/Bundle.Shop.Model.Rate.Tax
Model/Item.Shop.Model.IPriced.Taxed -> Model/Bundle.Shop.Model.High.Tax
Model/Item.Shop.Model.Item.Item -> Model/Item.Shop.Model.Item.Item
Model/Item.Shop.Model.Item.Item -> Model/Item.Shop.Model.Item.Check
Model/Item.Shop.Model.Item.Label -> Model/Item.Shop.Model.Item.Rename
Model/Item.Shop.Model.Item.Ship -> Model/Bundle.Names.Shop.Model.Log.Of
Model/Item.Shop.Model.Item.Ship -> Model/Bundle.Names.Shop.Model.Log.Info
Model/Item.Shop.Model.Item.Ship -> Model/Item.Shop.Model.Item.Label
Model/Item.Shop.Model.Item.CompareTo -> Model/Item.Shop.Model.Item.Price
Model/Item.Shop.Model.Item.CompareTo -> Model/Bundle.Shop.Model.Bundle.Price
Model/Item.Shop.Model.Item.operator+ -> Model/Bundle.Shop.Model.Bundle.Bundle
Model/Bundle.Shop.Model.Bundle.Bundle -> Model/Item.Shop.Model.Item.Item
Model/Bundle.Shop.Model.Bundle.Bundle -> Model/Bundle.Shop.Model.Bundle.Add
Model/Bundle.Shop.Model.Bundle.Price -> Model/Item.Shop.Model.Item.Price
Model/Bundle.Shop.Model.Bundle.Price -> Model/Bundle.Shop.Model.Bundle.Price
Model/Bundle.Shop.Model.Bundle.Times -> Model/Bundle.Shop.Model.Bundle.Price
Model/Bundle.Shop.Model.Bundle.Each -> App/Program.App.Program.Announce
Model/Bundle.Shop.Model.Rates -> Model/Bundle.Shop.Model.Rate
Model/Bundle.Shop.Model.Rates.Of -> Model/Item.Shop.Model.IPriced.Price
Model/Bundle.Shop.Model.Rates.Of -> Model/Item.Shop.Model.Item.Price
Model/Bundle.Shop.Model.Rates.Of -> Model/Bundle.Shop.Model.Bundle.Price
Model/Bundle.Shop.Model.Rates.Of -> Model/Bundle.Shop.Model.High
Model/Bundle.Shop.Model.Rate.Tax -> Model/Bundle.Shop.Model.Rate.Round
Model/Bundle.Shop.Model.High.Tax -> Model/Bundle.Shop.Model.Rate.Tax
Model/Bundle.Names.Shop.Model.Bundle.Names -> Model/Bundle.Names.Shop.Model.Bundle.Names.<anonymous1>
Model/Bundle.Names.Shop.Model.Bundle.Names -> Model/Bundle.Names.Shop.Model.Bundle.Names.<anonymous2>
Model/Bundle.Names.Shop.Model.Bundle.Names.<anonymous1> -> Model/Item.Shop.Model.Item.CompareTo
Model/Bundle.Names.Shop.Model.Bundle.Names.<anonymous2> -> Model/Item.Shop.Model.Item.Label
Model/Bundle.Names.Shop.Model.Bundle.First -> Model/Bundle.Names.Shop.Model.Bundle.Key
Model/Bundle.Names.Shop.Model.Bundle.Key -> Model/Extensions.Shop.Model.Extensions.Priced
Model/Bundle.Names.Shop.Model.Bundle.Ship -> Model/Item.Shop.Model.Item.Ship
Model/Bundle.Names.Shop.Model.Log.Of -> Model/Bundle.Names.Shop.Model.Log
Model/Extensions.Shop.Model.Extensions.Priced -> Model/Item.Shop.Model.IPriced.Taxed
Model/Extensions.Shop.Model.Extensions.Ship -> Model/Item.Shop.Model.Item.Ship
Store/Store.Shop.Store.StoreBase -> Store/Store.Shop.Store.StoreBase.Listener
Store/Store.Shop.Store.StoreBase.PutAsync -> Store/Store.Shop.Store.Checks.Valid
Store/Store.Shop.Store.StoreBase.PutAsync -> Store/Store.Shop.Store.StoreBase.SaveAsync
Store/Store.Shop.Store.StoreBase.PutAsync -> Store/Stores.Shop.Store.Memory.SaveAsync
Store/Store.Shop.Store.StoreBase.PutAsync -> Store/Stores.Shop.Store.Disk.SaveAsync
Store/Store.Shop.Store.StoreBase.PutAsync -> App/Program.App.Program.Announce
Store/Store.Shop.Store.StoreBase.PutAsync -> App/Program.App.Program.OnChanged
Store/Store.Shop.Store.StoreBase.PutAsync -> Store/Store.Shop.Store.StoreBase.Listener.Put
Store/Store.Shop.Store.StoreBase.Listener.Put -> Store/Store.Shop.Store.StoreBase.Log
Store/Store.Shop.Store.StoreBase.Listener.Put -> Store/Store.Shop.Store.StoreBase.Log.Info
Store/Store.Shop.Store.StoreBase.Listener.Put -> Model/Item.Shop.Model.Item.Label
Store/Store.Shop.Store.StoreBase.Listener.Put -> Model/Extensions.Shop.Model.Extensions.Shout
Store/Store.Shop.Store.Checks.Valid -> Store/Store.Shop.Store.Invalid.Invalid
Store/Stores.Shop.Store.Memory.SaveAsync -> Model/Item.Shop.Model.Item.Label
Store/Stores.Shop.Store.Memory.this[] -> Store/Stores.Shop.Store.Memory.Get
Store/Stores.Shop.Store.Memory.Sum -> Model/Extensions.Shop.Model.Extensions.Ship
Store/Stores.Shop.Store.Disk.Opened -> Store/Stores.Shop.Store.Disk.Flush
Store/Stores.Shop.Store.Disk.SaveAsync -> Store/Stores.Shop.Store.Disk.Sync
Store/Stores.Shop.Store.Disk.SaveAsync -> Store/Stores.Shop.Store.Disk.Flush
Store/Stores.Shop.Store.Disk.Dispose -> Store/Store.Shop.Store.StoreBase.Dispose
Store/Stores.Shop.Store.Disk.Dispose -> Store/Stores.Shop.Store.Disk.Flush
Store/Stores.Shop.Store.Disk.Flush -> Store/Stores.Shop.Store.Disk.Flush.Sync
Store/Stores.Shop.Store.Disk.Flush.Sync -> Store/Stores.Shop.Store.Disk.Done
Store/Stores.Shop.Store.Stores.Open -> Store/Stores.Shop.Store.Memory
Store/Stores.Shop.Store.Stores.Open -> Store/Stores.Shop.Store.Disk.Disk
Store/Stores.Shop.Store.Stores.Open -> Store/Stores.Shop.Store.Disk.Opened
App/Program.App.Line.Total -> Model/Item.Shop.Model.Item.Price
App/Program.App.Line.Total -> Model/Bundle.Shop.Model.Bundle.Price
App/Program.App.Line.Of -> App/Program.App.Line
App/Program.App.Builder.With -> App/Program.App.Line.Of
App/Program.App.Builder.Build -> App/Program.App.Order.Order
App/Program.App.Builder.Build -> App/Program.App.Builder.Limit
App/Program.App.Order.Total -> App/Program.App.Order.Total.<anonymous1>
App/Program.App.Order.Total.<anonymous1> -> App/Program.App.Line.Total
App/Program.App.Program -> Store/Stores.Shop.Store.Stores.Open
App/Program.App.Program.Program -> Store/Store.Shop.Store.StoreBase.On
App/Program.App.Program.Announce -> Model/Item.Shop.Model.Item.CompareTo
App/Program.App.Program.Announce -> App/Program.App.Program.Print
App/Program.App.Program.OnChanged -> Model/Item.Shop.Model.Item.Ship
App/Program.App.Program.Print -> Model/Item.Shop.Model.IPriced.Taxed
App/Program.App.Program.Run -> App/Program.App.Builder
App/Program.App.Program.Run -> App/Program.App.Builder.With
App/Program.App.Program.Run -> App/Program.App.Builder.Build
App/Program.App.Program.Run -> Model/Item.Shop.Model.Item.Item
App/Program.App.Program.Run -> Model/Bundle.Shop.Model.Bundle.Bundle
App/Program.App.Program.Run -> App/Program.App.Order.First
App/Program.App.Program.Run -> Model/Item.Shop.Model.Item.Ship
App/Program.App.Program.Run -> Store/Store.Shop.Store.StoreBase.PutAsync
App/Program.App.Program.Run -> Store/Store.Shop.Store.StoreBase.Dispose
App/Program.App.Program.Run -> Store/Stores.Shop.Store.Disk.Dispose
App/Program.App.Program.Run -> Model/Bundle.Shop.Model.Bundle.Times
App/Program.App.Program.Run -> Model/Bundle.Shop.Model.Bundle.Each
App/Program.App.Program.Run -> App/Program.App.Line.Total
App/Program.App.Program.Run -> App/Program.App.Program.Run.<anonymous1>
App/Program.App.Program.Run.<anonymous1> -> App/Program.App.Program.Print
App/Program.App.Program.Run -> Model/Item.Shop.Model.Item.Label
App/Program.App.Program.Run -> Store/Stores.Shop.Store.Memory.Sum
App/Program.App.Program.Run -> Store/Stores.Shop.Store.Disk.Disk
App/Program.App.Program.Run -> Store/Stores.Shop.Store.Disk.Opened
App/Program.App.Program.Run -> App/Program.App.Order.Total
App/Program.App.Program.Main -> App/Program.App.Program.Program
App/Program.App.Program.Main -> App/Program.App.Program.Run
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, CSHARP)
    truth = set(TRUTH.split("\n")) - {""}
    report("C#", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
