"""A repository of TypeScript whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import JAVASCRIPT
from tests.support.graphs import calls, report

FILES = {
    "src/index.ts": """
        export type { Backend } from './store.js'
        export { Store, default as Memory } from './store.js'
        export * from './shapes'
        import * as helpers from './helpers'
        export { helpers }
        """,
    "src/store.ts": """
        import { Logger } from 'logger'
        import type { Shape } from './shapes'
        import { retry } from './helpers.js'

        export interface Backend {
          save(shape: Shape): Promise<void>
          load?(id: string): Shape
        }

        export default class Memory implements Backend {
          private rows = new Map<string, Shape>()
          async save(shape: Shape) {
            this.rows.set('a', shape)
          }
          get(id: string): Shape {
            return this.rows.get(id)!
          }
          set() {}
        }

        class Disk implements Backend {
          constructor(protected readonly path: string, private log = new Logger()) {}
          async save(shape: Shape): Promise<void> {
            this.log.save(shape)
            this.flushAll()
          }
          private flushAll() {}
        }

        export class Store<T extends Shape> {
          private static shared?: Store<Shape>
          private hooks: Array<(shape: T) => void> = []
          constructor(private backend: Backend = new Memory(), public name?: string) {}

          static open(path: string): Store<Shape> {
            return (Store.shared ??= new Store<Shape>(new Disk(path)))
          }
          on(hook: (shape: T) => void): this {
            this.hooks.push(hook)
            return this
          }
          @retry(3)
          async put(shape: T) {
            shape.area()
            await this.backend.save(shape)
            for (const hook of this.hooks) hook(shape)
          }
        }
        """,
    "src/shapes.ts": """
        export abstract class Shape {
          abstract area(): number
          describe(): string {
            return `${this.area()} ${this.label}`
          }
          get label() { return Shape.title(this) }
          static title(shape: Shape) { return shape.constructor.name }
          title() {}
        }

        export class Square extends Shape {
          constructor(private side: number) { super() }
          area() { return square(this.side) }
        }

        export class Circle extends Shape {
          area = () => Circle.pi() * square(1)
          private static pi() { return 3 }
          describe() { return super.describe() }
        }

        function square(x: number): number
        function square(x: string): number
        function square(x: any) { return x * x }

        export enum Kind { Square = 'square', Circle = 'circle' }

        export namespace Make {
          export function shape(kind: Kind): Shape {
            switch (kind) {
              case Kind.Square: return new Square(1)
              default: return round()
            }
          }
          function round() { return new Circle() }
        }

        export type Drawn = Shape & { draw(): void }
        export interface Factory { (kind: Kind): Shape }
        export const Factory = Make.shape
        """,
    "src/helpers.ts": """
        export function retry(times: number) {
          return (target: unknown, key: string) => undefined
        }
        export function first<T>(items: T[]): T {
          return items[0]
        }
        export async function each<T>(items: T[], visit: (item: T) => void) {
          items.forEach(visit)
        }
        export const isShape = (x: unknown): x is object => typeof x === 'object'
        """,
    "app/main.tsx": """
        import React from 'react'
        import { save as store, Client } from 'client'
        import { Store, Memory as Ram, Backend, Make, Kind, Factory, helpers, Square, type Shape, Drawn } from '../src'
        import { first as head } from '../src/helpers'
        import legacy = require('./legacy')

        const backend: Backend = pick()

        function pick(): Backend { return new Ram() }

        function View({ shape }: { shape: Shape }) {
          return <p onClick={() => refresh()}>{shape.describe()}</p>
        }

        const refresh = async () => {
          store(1)
          new Client().save(2)
        }

        function main(client: Client, drawn: Drawn, unknown: any) {
          const opened = Store.open('x')
          opened.on(announce).put(Make.shape(Kind.Circle))
          backend.save(Factory(Kind.Square))
          client.save(1)
          client.put(2)
          drawn.draw()
          drawn.describe()
          head([new Square(1)]).area()
          helpers.each([1], visit)
          if (unknown instanceof Ram) unknown.get('a').area()
          ;(unknown as Square).title()
          legacy.start(main)
          const shapes: Record<string, Shape> = {}
          shapes.a.area()
          {
            const pick = announce
            pick(drawn)
          }
          return <View shape={drawn} />
        }

        function announce(shape: Shape) { shape.label }
        function visit(pick: () => void) { pick() }
        """,
    "app/legacy.ts": """
        function start(then: Function) { then() }
        function hidden() {}
        export = { start, stop: hidden }
        """,
    # It is called as a package is, and is not that package.
    "client.ts": """
        export function save() {}
        export class Client { save() {} put() {} }
        """,
}

TRUTH = """
src/store.Disk.save -> src/store.Disk.flushAll
src/store.Store.constructor -> src/store.Memory
src/store.Store.open -> src/store.Store.constructor
src/store.Store.open -> src/store.Disk.constructor
src/store.Store -> src/helpers.retry
src/store.Store -> src/helpers.retry.<anonymous1>
src/store.Store.put -> src/shapes.Shape.area
src/store.Store.put -> src/shapes.Square.area
src/store.Store.put -> src/shapes.Circle.area
src/store.Store.put -> src/store.Backend.save
src/store.Store.put -> src/store.Memory.save
src/store.Store.put -> src/store.Disk.save
src/store.Store.put -> app/main.announce
src/shapes.Shape.describe -> src/shapes.Shape.area
src/shapes.Shape.describe -> src/shapes.Circle.area
src/shapes.Shape.describe -> src/shapes.Shape.label
src/shapes.Shape.label -> src/shapes.Shape.title
src/shapes.Square.area -> src/shapes.square
src/shapes.Circle.area -> src/shapes.Circle.pi
src/shapes.Circle.area -> src/shapes.square
src/shapes.Circle.describe -> src/shapes.Shape.describe
src/shapes.shape -> src/shapes.Square.constructor
src/shapes.shape -> src/shapes.round
src/shapes.round -> src/shapes.Circle
app/main -> app/main.pick
app/main.pick -> src/store.Memory
app/main.View -> src/shapes.Shape.describe
app/main.View.<anonymous1> -> app/main.refresh
app/main.main -> src/store.Store.open
app/main.main -> src/store.Store.on
app/main.main -> src/store.Store.put
app/main.main -> src/shapes.shape
app/main.main -> src/store.Memory.save
app/main.main -> src/shapes.Drawn.draw
app/main.main -> src/shapes.Shape.describe
app/main.main -> src/helpers.first
app/main.main -> src/shapes.Square.constructor
app/main.main -> src/shapes.Square.area
app/main.main -> src/shapes.Circle.area
app/main.main -> src/helpers.each
app/main.main -> src/store.Memory.get
app/main.main -> src/shapes.Shape.area
app/main.main -> src/shapes.Shape.title
app/main.main -> app/legacy.start
app/main.main -> app/main.announce
app/main.main -> app/main.View
app/main.announce -> src/shapes.Shape.label
src/helpers.each -> app/main.visit
app/legacy.start -> app/main.main
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, JAVASCRIPT)
    truth = set(TRUTH.split("\n")) - {""}
    report("TypeScript", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
