"""Claims about edges of every kind in languages with declared types, and where calls are not followed at all."""

from pathlib import Path

import pytest

from appliance.codeintel.store.kinds import USES
from tests.support.kinds import edges, graphed

GO = {
    "go.mod": """\
module example.com/shop
""",
    "price/price.go": """\
package price

import "fmt"

const Rate = 2

type Totaler interface {
	Total() int
}

type Base struct {
	Net int
}

type Price struct {
	Base
	Label string
}

func (p *Price) Total() int {
	fmt.Println(p.Label)
	return p.Net * Rate
}

func Gross(t Totaler) int { return t.Total() }
""",
    "cart/cart.go": """\
package cart

import (
	"example.com/shop/price"
	"strings"
)

type Cart struct {
	items []price.Price
	b     strings.Builder
}

func (c *Cart) Sum(f func(price.Totaler) int) int {
	return apply(price.Gross, c) + price.Rate
}

func apply(f func(price.Totaler) int, c *Cart) int { return f(&c.items[0]) }
""",
}
GO_EDGES = {
    "imports 4 cart/cart.go -> price/price.go",
    "references 13 cart/cart.go:Cart.Sum -> cart/cart.go:Cart",
    "references 13 cart/cart.go:Cart.Sum -> price/price.go:Totaler",
    "references 17 cart/cart.go:apply -> cart/cart.go:Cart",
    "references 17 cart/cart.go:apply -> price/price.go:Totaler",
    "inherits 15 price/price.go:Price -> price/price.go:Base",
    "references 16 price/price.go:Price -> price/price.go:Base",
    "references 20 price/price.go:Price.Total -> price/price.go:Price",
    "references 25 price/price.go:Gross -> price/price.go:Totaler",
    "implements 15 price/price.go:Price -> price/price.go:Totaler",
    "implements 20 price/price.go:Price.Total -> price/price.go:Totaler.Total",
    "references 9 cart/cart.go:Cart -> price/price.go:Price",
    "references 14 cart/cart.go:Cart.Sum -> price/price.go:Gross",
    "references 14 cart/cart.go:Cart.Sum -> price/price.go:Rate",
    "references 17 cart/cart.go:apply -> cart/cart.go:Cart.items",
    "references 21 price/price.go:Price.Total -> price/price.go:Price.Label",
    "references 22 price/price.go:Price.Total -> price/price.go:Base.Net",
    "references 22 price/price.go:Price.Total -> price/price.go:Rate",
}
JAVA = {
    "J/Base.java": """\
package shop;
public abstract class Base implements Totaler {
  static final int RATE = 2;
  public int total() { return RATE; }
}
""",
    "J/Totaler.java": """\
package shop;
public interface Totaler { int total(); }
""",
    "J/Price.java": """\
package shop;
import java.util.List;
public class Price extends Base {
  private List<Base> parts;
  @Override public int total() { return super.total() + Base.RATE; }
  Price with(Totaler other) { return this; }
}
""",
}
JAVA_EDGES = {
    "implements 2 J/Base.java:Base -> J/Totaler.java:Totaler",
    "implements 4 J/Base.java:Base.total -> J/Totaler.java:Totaler.total",
    "inherits 3 J/Price.java:Price -> J/Base.java:Base",
    "references 4 J/Price.java:Price -> J/Base.java:Base",
    "overrides 5 J/Price.java:Price.total -> J/Base.java:Base.total",
    "references 5 J/Price.java:Price.total -> J/Base.java:Base.RATE",
    "references 6 J/Price.java:Price.with -> J/Totaler.java:Totaler",
    "references 6 J/Price.java:Price.with -> J/Price.java:Price",
}
RUST = {
    "Cargo.toml": """\
[package]
name = "shop"
""",
    "src/lib.rs": """\
pub mod price;
pub use price::Price as Cost;
use std::fmt::Display;

pub fn show(cost: &Cost, rest: &dyn Display) -> u32 {
    cost.total() + price::RATE + cost.net
}
""",
    "src/price.rs": """\
pub const RATE: u32 = 2;
pub trait Total { fn total(&self) -> u32; }
pub enum Kind { Small, Large(Price) }
pub struct Price { pub net: u32, total: u32 }
impl Total for Price {
    fn total(&self) -> u32 { self.total * RATE }
}
pub fn make(kind: Kind) -> Price {
    match kind { Kind::Large(price) => price, _ => Price { net: 1, total: 1 } }
}
""",
}
RUST_EDGES = {
    "imports 1 src/lib.rs -> src/price.rs",
    "imports 2 src/lib.rs -> src/price.rs",
    "imports 2 src/lib.rs -> src/price.rs:Price",
    "references 5 src/lib.rs:show -> src/price.rs:Price",
    "references 6 src/lib.rs:show -> src/price.rs:RATE",
    "references 6 src/lib.rs:show -> src/price.rs:Price.net",
    "references 3 src/price.rs:Kind.Large -> src/price.rs:Price",
    "implements 4 src/price.rs:Price -> src/price.rs:Total",
    "references 5 src/price.rs -> src/price.rs:Price",
    "references 5 src/price.rs -> src/price.rs:Total",
    "implements 6 src/price.rs:Price.total#2 -> src/price.rs:Total.total",
    "references 6 src/price.rs:Price.total#2 -> src/price.rs:Price.total",
    "references 6 src/price.rs:Price.total#2 -> src/price.rs:RATE",
    "references 8 src/price.rs:make -> src/price.rs:Kind",
    "references 8 src/price.rs:make -> src/price.rs:Price",
    "references 9 src/price.rs:make -> src/price.rs:Kind",
    "references 9 src/price.rs:make -> src/price.rs:Kind.Large",
    "references 9 src/price.rs:make -> src/price.rs:Price",
}
RUBY = {
    "x.rb": """\
require_relative "y"
class Foo < Bar
  def go; helper(1); Other.new; twice(1); end
end
""",
    "y.rb": """\
class Bar
  def helper(x); end
  def twice(x); end
end
class Baz
  def twice(x); end
end
""",
}


@pytest.mark.parametrize(
    ("files", "truth"), [(GO, GO_EDGES), (JAVA, JAVA_EDGES), (RUST, RUST_EDGES)], ids=["go", "java", "rust"]
)
def test_types_are_used_where_they_are_written_and_members_replace_those_of_bases(
    files: dict[str, str], truth: set[str], tmp_path: Path
) -> None:
    """What is imported from outside (`fmt`, `strings`, `java.util.List`) is nobody's in here."""
    bench, generation = graphed(tmp_path, files)
    assert edges(generation, *USES) == truth
    assert edges(generation, *USES, candidates=True) == set()
    bench.close()


def test_where_no_calls_are_followed_names_are_candidates_of_what_stands_nearest(tmp_path: Path) -> None:
    """`Other` has no definition, and two definitions of `twice` are one too many."""
    bench, generation = graphed(tmp_path, RUBY)
    assert edges(generation, *USES) == set()
    assert edges(generation, *USES, candidates=True) == {
        "imports 1 x.rb -> y.rb",
        "inherits 2 x.rb:Foo -> y.rb:Bar",
        "references 3 x.rb:Foo.go -> y.rb:Bar.helper",
    }
    bench.close()
