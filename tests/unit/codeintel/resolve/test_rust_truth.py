"""A repository of Rust whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import RUST
from tests.support.graphs import calls, report

FILES = {
    "Cargo.toml": """
        [workspace]
        members = ["crates/*", "app"]
        """,
    # The crate's name is not its folder's, and its library stands elsewhere.
    "crates/money/Cargo.toml": """
        [package]
        name = "shop-money"

        [lib]
        path = "lib/lib.rs"
        """,
    "crates/money/lib/lib.rs": """
        pub mod price;
        mod round;

        pub use self::price::{Price as Money, Total};
        pub use round::*;

        #[macro_export]
        macro_rules! money {
            ($x:expr) => { $crate::Money::parse($x) };
        }
        """,
    "crates/money/lib/price.rs": """
        use std::fmt;
        use std::ops::Deref;

        use super::round::up;

        #[derive(Clone, Default)]
        pub struct Price {
            cents: i64,
            pub parse: bool,
        }

        pub trait Total {
            const STEP: i64;

            fn total(&self) -> Price;

            fn doubled(&self) -> Price {
                twice(self.total())
            }
        }

        fn twice(price: Price) -> Price {
            price.add(&price.clone())
        }

        impl Price {
            pub fn parse(text: &str) -> Result<Self, Error> {
                let cents = text.parse().map_err(Error::from_parts)?;
                Ok(Self { cents: up(cents), parse: true }.checked())
            }

            fn checked(self) -> Self {
                self
            }

            pub fn add(&self, other: &Price) -> Price {
                Price { cents: self.cents + other.cents, ..Default::default() }
            }
        }

        impl Total for Price {
            const STEP: i64 = 1;

            fn total(&self) -> Price {
                self.clone()
            }
        }

        impl<T: Total> Total for Vec<T> {
            const STEP: i64 = 2;

            fn total(&self) -> Price {
                self.iter().map(|each| each.total()).fold(Price::default(), |sum, each| sum.add(&each))
            }
        }

        impl fmt::Display for Price {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "{}", show(self.cents))
            }
        }

        fn show(cents: i64) -> String {
            cents.to_string()
        }

        #[derive(Debug)]
        pub enum Error {
            Empty,
            Parts(Box<Price>),
            At { place: usize, cause: Price },
        }

        impl Error {
            fn from_parts(_: std::num::ParseIntError) -> Error {
                Error::Empty
            }

            pub fn price(&self) -> Price {
                match self {
                    Error::Empty => Price::default(),
                    Error::Parts(price) if price.parse => price.total(),
                    Self::Parts(price) => price.checked_twice(),
                    Error::At { cause, .. } => cause.add(cause),
                }
            }
        }

        trait Checked {
            fn checked_twice(&self) -> Price;
        }

        impl Checked for Price {
            fn checked_twice(&self) -> Price {
                self.clone().checked().checked()
            }
        }

        pub struct Shared(Price);

        impl Deref for Shared {
            type Target = Price;

            fn deref(&self) -> &Price {
                &self.0
            }
        }
        """,
    "crates/money/lib/round.rs": """
        pub fn up(cents: i64) -> i64 {
            inner::step(cents)
        }

        pub fn down(cents: i64) -> i64 {
            cents
        }

        mod inner {
            use super::down;

            pub fn step(cents: i64) -> i64 {
                down(self::other()) + super::super::round::down(cents)
            }

            fn other() -> i64 {
                let down = |x: i64| x;
                down(1)
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn it_rounds() {
                assert_eq!(up(1), down(2), "{}", help!(up(3)));
            }
        }
        """,
    "app/Cargo.toml": """
        [package]
        name = "app"

        [dependencies]
        cash = { package = "shop-money", path = "../crates/money" }
        client = "1"
        """,
    "app/src/main.rs": """
        mod store;
        mod search;

        use std::collections::HashMap;
        use std::sync::{Arc, Mutex};

        use cash::{money, Money, Total};
        use client::Client;

        use crate::store::{self as stores, Disk, Memory, Store};

        fn main() -> anyhow::Result<()> {
            let mut shop = Shop::new(Box::new(Memory::new()), None);
            shop.put("a", Money::parse("1")?);
            shop.on(announce);
            shop.on(|price| { price.total(); });
            search(&shop, search::Options { depth: 1 });
            if let Some(price) = shop.get("a") {
                price.doubled();
            }
            let client = Client::new();
            client.put(Disk::open("x"));
            money!(1);
            stores::flush();
            cash::down(1);
            Ok(())
        }

        // It has the name of a module.
        fn search(shop: &Shop, options: search::Options) {
            options.run(shop);
        }

        fn announce(price: &Money) {
            let shared: Arc<Mutex<Money>> = Arc::new(Mutex::new(price.clone()));
            shared.lock().unwrap().add(price);
        }

        pub struct Shop {
            stores: HashMap<String, Box<dyn Store>>,
            first: Option<Arc<dyn Store>>,
            hooks: Vec<Box<dyn Fn(&Money)>>,
        }

        impl Shop {
            fn new(store: Box<dyn Store>, first: Option<Arc<dyn Store>>) -> Self {
                store.name();
                Self { stores: HashMap::new(), first, hooks: vec![] }
            }

            fn on(&mut self, hook: impl Fn(&Money) + 'static) -> &mut Self {
                self.hooks.push(Box::new(hook));
                self
            }

            fn put(&mut self, key: &str, price: Money) {
                for (_, store) in self.stores.iter_mut() {
                    store.put(key, price.clone());
                }
                for hook in &self.hooks {
                    hook(&price);
                }
                let Some(first) = self.first.as_ref() else { return self.close() };
                first.get(key);
            }

            fn get(&self, key: &str) -> Option<Money> {
                self.first.as_ref()?.get(key)
            }

            fn close(&mut self) {}
        }
        """,
    "app/src/store/mod.rs": """
        use cash::Money;

        mod disk;

        pub use disk::Disk;

        pub trait Store: Named {
            fn put(&mut self, key: &str, price: Money);
            fn get(&self, key: &str) -> Option<Money>;
        }

        pub trait Named {
            fn name(&self) -> String {
                String::from("store")
            }
        }

        #[derive(Default)]
        pub struct Memory<K = String> {
            rows: Vec<(K, Money)>,
        }

        impl Memory {
            pub fn new() -> Self {
                Self::with(Vec::new())
            }

            fn with(rows: Vec<(String, Money)>) -> Memory {
                Memory { rows }
            }
        }

        impl Named for Memory {}

        impl Store for Memory {
            fn put(&mut self, key: &str, price: Money) {
                let sum = self.rows.iter().map(|(_, each)| each.add(&price)).next();
                self.rows.push((key.to_string(), sum.unwrap_or(price)));
            }

            fn get(&self, key: &str) -> Option<Money> {
                self.rows.iter().find(|row| row.0 == key).map(|row| twice(&row.1))
            }
        }

        fn twice<T>(value: &T) -> T where T: cash::Total + Clone {
            value.total();
            value.clone()
        }

        pub(crate) fn flush() {
            crate::search::flush()
        }
        """,
    "app/src/store/disk.rs": """
        use super::{Named, Store};
        use cash::Money;

        pub struct Disk {
            path: std::path::PathBuf,
            put: fn(&str) -> Money,
        }

        impl Disk {
            pub fn open(path: &str) -> Result<Disk, std::io::Error> {
                let made = Disk { path: path.into(), put: read };
                made.path.join("x").put();
                Ok(made)
            }
        }

        fn read(path: &str) -> Money {
            Money::parse(path).unwrap()
        }

        impl Named for Disk {
            fn name(&self) -> String {
                self.path.name()
            }
        }

        impl Store for Disk {
            fn put(&mut self, key: &str, price: Money) {
                (self.put)(key).add(&price);
            }

            fn get(&self, key: &str) -> Option<Money> {
                <Disk as Named>::name(self);
                None
            }
        }
        """,
    "app/src/search.rs": """
        use crate::Shop;

        pub struct Options {
            pub depth: usize,
        }

        impl Options {
            pub fn run(&self, shop: &Shop) {
                if self.depth > 1 {
                    return flush();
                }
                Walk { left: self.depth }.filter_map(|step| step.next()).for_each(drop);
                for step in (Walk { left: 1 }) {
                    step.go(shop);
                }
            }
        }

        pub fn flush() {}

        struct Walk {
            left: usize,
        }

        struct Step;

        impl Iterator for Walk {
            type Item = Step;

            fn next(&mut self) -> Option<Self::Item> {
                Some(Step)
            }
        }

        impl Step {
            fn next(&self) -> Option<usize> {
                None
            }

            fn go(&self, shop: &Shop) {
                shop.get("x");
            }
        }
        """,
    "app/tests/common/mod.rs": """
        pub fn shop() -> Shop {
            Shop
        }

        pub struct Shop;

        impl Shop {
            pub fn get(&self) {}
        }
        """,
    "app/tests/all.rs": """
        mod common;

        use common::shop;

        #[test]
        fn it_gets() {
            let shop = shop();
            shop.get();
        }
        """,
    # It has the name of a crate that is none of this repository's.
    "client.rs": """
        pub struct Client;

        impl Client {
            pub fn new() -> Client { Client }
            pub fn put(&self) {}
        }
        """,
}

TRUTH = """
app/src/main.Shop.get -> app/src/store/disk.Disk.get
app/src/main.Shop.get -> app/src/store/mod.Memory.get
app/src/main.Shop.get -> app/src/store/mod.Store.get
app/src/main.Shop.new -> app/src/store/disk.Disk.name
app/src/main.Shop.new -> app/src/store/mod.Named.name
app/src/main.Shop.put -> app/src/main.Shop.close
app/src/main.Shop.put -> app/src/main.announce
app/src/main.Shop.put -> app/src/main.main.<closure>
app/src/main.Shop.put -> app/src/store/disk.Disk.get
app/src/main.Shop.put -> app/src/store/disk.Disk.put
app/src/main.Shop.put -> app/src/store/mod.Memory.get
app/src/main.Shop.put -> app/src/store/mod.Memory.put
app/src/main.Shop.put -> app/src/store/mod.Store.get
app/src/main.Shop.put -> app/src/store/mod.Store.put
app/src/main.announce -> crates/money/lib/price.Price.add
app/src/main.main -> app/src/main.Shop.get
app/src/main.main -> app/src/main.Shop.new
app/src/main.main -> app/src/main.Shop.on
app/src/main.main -> app/src/main.Shop.put
app/src/main.main -> app/src/main.search
app/src/main.main -> app/src/store/disk.Disk.open
app/src/main.main -> app/src/store/mod.Memory.new
app/src/main.main -> app/src/store/mod.flush
app/src/main.main -> crates/money/lib/lib.money
app/src/main.main -> crates/money/lib/price.Price.parse
app/src/main.main -> crates/money/lib/price.Total.doubled
app/src/main.main -> crates/money/lib/round.down
app/src/main.main.<closure> -> crates/money/lib/price.Price.total
app/src/main.search -> app/src/search.Options.run
app/src/search.Options.run -> app/src/search.Options.run.<closure>
app/src/search.Options.run -> app/src/search.Step.go
app/src/search.Options.run -> app/src/search.Walk.next
app/src/search.Options.run -> app/src/search.flush
app/src/search.Options.run.<closure> -> app/src/search.Step.next
app/src/search.Step.go -> app/src/main.Shop.get
app/src/store/disk.Disk.get -> app/src/store/disk.Disk.name
app/src/store/disk.Disk.put -> app/src/store/disk.read
app/src/store/disk.Disk.put -> crates/money/lib/price.Price.add
app/src/store/disk.read -> crates/money/lib/price.Price.parse
app/src/store/mod.Memory.get -> app/src/store/mod.Memory.get.<closure>
app/src/store/mod.Memory.get.<closure> -> app/src/store/mod.twice
app/src/store/mod.Memory.new -> app/src/store/mod.Memory.with
app/src/store/mod.Memory.put -> app/src/store/mod.Memory.put.<closure>
app/src/store/mod.Memory.put.<closure> -> crates/money/lib/price.Price.add
app/src/store/mod.flush -> app/src/search.flush
app/src/store/mod.twice -> crates/money/lib/price.Price.total
app/src/store/mod.twice -> crates/money/lib/price.Total.total
app/src/store/mod.twice -> crates/money/lib/price.Vec.total
app/tests/all.it_gets -> app/tests/common/mod.Shop.get
app/tests/all.it_gets -> app/tests/common/mod.shop
crates/money/lib/price.Error.price -> crates/money/lib/price.Price.add
crates/money/lib/price.Error.price -> crates/money/lib/price.Price.checked_twice
crates/money/lib/price.Error.price -> crates/money/lib/price.Price.total
crates/money/lib/price.Price.checked_twice -> crates/money/lib/price.Price.checked
crates/money/lib/price.Price.fmt -> crates/money/lib/price.show
crates/money/lib/price.Price.parse -> crates/money/lib/price.Error.from_parts
crates/money/lib/price.Price.parse -> crates/money/lib/price.Price.checked
crates/money/lib/price.Price.parse -> crates/money/lib/round.up
crates/money/lib/price.Total.doubled -> crates/money/lib/price.Price.total
crates/money/lib/price.Total.doubled -> crates/money/lib/price.Total.total
crates/money/lib/price.Total.doubled -> crates/money/lib/price.Vec.total
crates/money/lib/price.Total.doubled -> crates/money/lib/price.twice
crates/money/lib/price.Vec.total -> crates/money/lib/price.Vec.total.<closure>
crates/money/lib/price.Vec.total.<closure> -> crates/money/lib/price.Price.add
crates/money/lib/price.Vec.total.<closure> -> crates/money/lib/price.Price.total
crates/money/lib/price.Vec.total.<closure> -> crates/money/lib/price.Total.total
crates/money/lib/price.Vec.total.<closure> -> crates/money/lib/price.Vec.total
crates/money/lib/price.twice -> crates/money/lib/price.Price.add
crates/money/lib/round.inner.other -> crates/money/lib/round.inner.other.<closure>
crates/money/lib/round.inner.step -> crates/money/lib/round.down
crates/money/lib/round.inner.step -> crates/money/lib/round.inner.other
crates/money/lib/round.tests.it_rounds -> crates/money/lib/round.down
crates/money/lib/round.tests.it_rounds -> crates/money/lib/round.up
crates/money/lib/round.up -> crates/money/lib/round.inner.step
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, RUST)
    truth = set(TRUTH.split("\n")) - {""}
    report("Rust", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
