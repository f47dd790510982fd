"""An app in Rust over the crate of `test_rust_truth`."""

from collections.abc import Mapping

APP: Mapping[str, str] = {
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
}
