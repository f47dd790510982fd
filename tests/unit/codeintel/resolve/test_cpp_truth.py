"""A repository of C++ whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import C
from tests.support.cpp_repository import FILES
from tests.support.graphs import calls, report

TRUTH = """
include/draw/shape.hpp.draw.Point.length -> src/shape.cpp.draw.Point.norm
include/draw/shape.hpp.draw.Tagged.tag -> src/shape.cpp.draw.Tagged.check
include/draw/shape.hpp.draw.Square.Square -> src/shape.cpp.draw.Shape.Shape
include/draw/shape.hpp.draw.Square.Square -> include/draw/shape.hpp.draw.Tagged.tag
include/draw/shape.hpp.draw.Square.area -> include/draw/shape.hpp.draw.Square.square
src/shape.cpp.draw.Point.operator+ -> include/draw/shape.hpp.draw.Point
src/shape.cpp.draw.Point.norm -> src/shape.cpp.square
src/shape.cpp.draw.operator== -> src/shape.cpp.draw.operator-
src/shape.cpp.draw.operator== -> include/draw/shape.hpp.draw.Point.length
src/shape.cpp.draw.Shape.Shape -> src/shape.cpp.trace
src/shape.cpp.draw.Shape.~Shape -> src/shape.cpp.trace
src/shape.cpp.draw.Shape.describe -> include/util/strings.hpp.util.join
src/shape.cpp.draw.Shape.describe -> include/draw/shape.hpp.draw.Shape.name
src/shape.cpp.draw.Shape.describe -> include/draw/shape.hpp.draw.Shape.area
src/shape.cpp.draw.Shape.describe -> include/draw/shape.hpp.draw.Square.area
src/shape.cpp.draw.Shape.describe -> src/shape.cpp.draw.Circle.area
src/shape.cpp.draw.Shape.move -> include/draw/shape.hpp.draw.Point
src/shape.cpp.draw.Shape.move -> src/shape.cpp.draw.Point.operator+
src/shape.cpp.draw.Shape.move -> src/shape.cpp.draw.Shape.move
src/shape.cpp.draw.Shape.make -> include/draw/shape.hpp.draw.Square.Square
src/shape.cpp.draw.Shape.make -> src/shape.cpp.draw.Circle.Circle
src/shape.cpp.draw.Circle.Circle -> src/shape.cpp.draw.Shape.Shape
src/shape.cpp.draw.Circle.area -> src/shape.cpp.square
src/shape.cpp.draw.Circle.area -> include/draw/shape.hpp.draw.Point.length
src/shape.cpp.draw.Circle.describe -> src/shape.cpp.draw.Shape.describe
include/util/strings.hpp.util.join -> include/util/strings.hpp.util.text.str
include/util/strings.hpp.util.Buffer.push_back -> include/util/strings.hpp.util.Buffer.grow
include/util/strings.hpp.util.Buffer.operator<< -> include/util/strings.hpp.util.Buffer.push_back
include/util/strings.hpp.util.Buffer.operatorbool -> include/util/strings.hpp.util.Buffer.size
src/strings.cpp.util.to_string -> include/util/strings.hpp.util.Buffer.operator<<
src/strings.cpp.util.to_string -> include/util/strings.hpp.util.Buffer.operator[]
src/scene.h.app.Pool.first -> src/scene.h.app.Pool.size
src/scene.h.app.Scene.run -> src/scene.cc.app.Scene.clear
src/scene.h.app.Scene.run -> src/scene.cc.app.Scene.refresh
src/scene.cc.app.smaller -> include/draw/shape.hpp.draw.Square.area
src/scene.cc.app -> src/scene.cc.app.start
src/scene.cc.app.Scene.add -> src/scene.cc.app.Lock.Lock
src/scene.cc.app.Scene.add -> src/scene.cc.app.Lock.~Lock
src/scene.cc.app.Scene.add -> src/shape.cpp.draw.Shape.move
src/scene.cc.app.Scene.each -> src/main.cpp.print
src/scene.cc.app.Scene.each -> src/main.cpp.main.<anonymous1>
src/scene.cc.app.Scene.total -> include/draw/shape.hpp.draw.Shape.area
src/scene.cc.app.Scene.total -> include/draw/shape.hpp.draw.Square.area
src/scene.cc.app.Scene.total -> src/shape.cpp.draw.Circle.area
src/scene.cc.app.Scene.total -> include/draw/shape.hpp.draw.Tagged.size
src/scene.cc.app.Scene.total -> src/shape.cpp.draw.Shape.describe
src/scene.cc.app.Scene.clear -> src/scene.cc.app.smaller
src/scene.cc.app.Scene.clear -> src/scene.cc.app.Counter.operator()
src/scene.cc.app.Counter.operator() -> src/scene.cc.app.Counter.bump
src/scene.cc.app.Scene.refresh -> src/scene.h.app.Pool.first
src/scene.cc.app.Scene.refresh -> src/scene.h.app.Pool.add
src/scene.cc.app.Scene.refresh -> src/shape.cpp.draw.Circle.Circle
src/scene.cc.app.Scene.refresh -> src/shape.cpp.draw.Circle.describe
src/scene.cc.app.Scene.refresh -> src/shape.cpp.draw.Circle.area
src/scene.cc.app.Scene.instances -> include/util/strings.hpp.util.max
src/scene.cc.app.Builder.build -> src/scene.cc.app.Scene.Scene
src/scene.cc.app.Builder.build -> src/scene.cc.app.Scene.add
src/scene.cc.app.Builder.build -> src/shape.cpp.draw.Shape.make
src/main.cpp.size -> src/scene.cc.app.Scene.instances
src/main.cpp.print -> src/shape.cpp.draw.Shape.describe
src/main.cpp.print -> src/shape.cpp.draw.Circle.describe
src/main.cpp.Report.line -> include/draw/shape.hpp.draw.Shape.name
src/main.cpp.Guard.~Guard -> src/shape.cpp.draw.Shape.~Shape
src/main.cpp.Guard.~Guard -> src/shape.cpp.draw.Circle.~Circle
src/main.cpp.main -> src/scene.h.app.Scene.Builder
src/main.cpp.main -> src/scene.h.app.Scene.Builder.with
src/main.cpp.main -> src/scene.cc.app.Builder.build
src/main.cpp.main -> src/scene.cc.app.Scene.each
src/main.cpp.main.<anonymous1> -> src/main.cpp.Report.line
src/main.cpp.main -> src/main.cpp.main.<anonymous2>
src/main.cpp.main.<anonymous2> -> src/scene.cc.app.Scene.total
src/main.cpp.main -> src/scene.h.app.Scene.run
src/main.cpp.main -> src/shape.cpp.draw.operator==
src/main.cpp.main -> src/main.cpp.Guard.Guard
src/main.cpp.main -> src/main.cpp.Guard.~Guard
src/main.cpp.main -> src/main.cpp.Guard.operator->
src/main.cpp.main -> include/draw/shape.hpp.draw.Square.Square
src/main.cpp.main -> include/draw/shape.hpp.draw.Shape.area
src/main.cpp.main -> include/draw/shape.hpp.draw.Square.area
src/main.cpp.main -> src/shape.cpp.draw.Circle.area
src/main.cpp.main -> src/shape.cpp.draw.Circle.Circle
src/main.cpp.main -> src/shape.cpp.draw.Circle.describe
src/main.cpp.main -> include/draw/shape.hpp.draw.Tagged.tag
src/main.cpp.main -> include/draw/shape.hpp.draw.Tagged.size
src/main.cpp.main -> src/legacy.c.legacy_start
src/main.cpp.main -> src/main.cpp.size
src/legacy.c.legacy_start -> src/legacy.c.size
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, C)
    truth = set(TRUTH.split("\n")) - {""}
    report("C++", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
