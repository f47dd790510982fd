"""A repository of Rust whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import RUST
from tests.support.graphs import calls, report
from tests.support.rust_app import APP

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
    **APP,
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
