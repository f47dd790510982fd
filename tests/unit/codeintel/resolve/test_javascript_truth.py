"""A repository of JavaScript whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import JAVASCRIPT
from tests.support.graphs import calls, report

FILES = {
    "lib/index.js": """
        export { default as Cart, makeCart as create } from './cart.js'
        export * from './prices.js'
        export * as text from './text/index.js'
        """,
    "lib/prices.js": """
        export function gross(net) {
          return rounded(net)
        }

        const rounded = value => Math.round(value)

        export function parse(text) {
          return JSON.parse(text)
        }

        export const table = {
          normal: gross,
          reduced(net) { return this.half(net) },
          half: function (net) { return net / 2 },
        }
        """,
    "lib/cart.js": """
        import { EventEmitter } from 'node:events'
        import { gross as withTax, table } from './prices.js'
        import * as text from './text'

        export default class extends EventEmitter {
          #items = []
          onChange = () => this.total()
          static empty() { return new this() }
          constructor(owner) {
            super()
            this.owner = owner
            this.log = text.line
          }
          get size() { return this.count() }
          count() { return this.#items.length }
          add(item) {
            this.#items.push(item)
            this.emit('added', item)
            this.log(item)
            return this
          }
          total() {
            let sum = 0
            for (const item of this.#items) sum += item.price()
            return withTax(sum)
          }
          push() {}
        }

        export class Item {
          constructor(net) { this.net = net }
          price() { return table.reduced(this.net) }
        }

        export class Gift extends Item {
          price() { return super.price() - this.discount() }
          discount() { return 1 }
        }

        export function makeCart(kind) {
          const made = { plain: Item, gift: Gift }
          return new made[kind](1)
        }
        """,
    "lib/text/index.js": """
        exports.line = function line(value) {
          return exports.trim(String(value))
        }
        exports.trim = function (value) {
          return value.trim()
        }
        """,
    "server/app.js": """
        var util = require('util')
        var fs = require('fs')
        var Router = require('./router')
        const { wrap, once: justOnce } = require('./helpers')

        module.exports = createApp
        module.exports.Router = Router

        function createApp() {
          var app = Object.assign({}, methods)
          app.init()
          return app
        }

        var methods = {
          init: function () {
            this.router = new Router('main')
            this.router.use(wrap(report))
          },
          close() { fs.close(1) },
        }

        function App() { Router.call(this, 'app') }
        util.inherits(App, Router)
        App.prototype.start = function start() {
          var self = this
          setTimeout(function () { self.use(stop) }, 10)
          this.open()
        }
        App.prototype.open = justOnce(listen)

        function listen() {}
        function report() {}
        function stop() {}

        new App().start()
        """,
    "server/router.js": """
        'use strict'
        function Router(name) {
          this.name = name
          this.stack = []
        }
        Router.prototype.use = function use(fn) {
          this.stack.push(fn)
          this.handle()
        }
        Router.prototype.handle = function () {
          this.stack.forEach(layer => layer())
        }
        module.exports = Router
        """,
    "server/helpers.js": """
        exports.wrap = fn => function wrapped() { return fn() }
        exports.once = function once(fn) {
          let done = false
          return function () { if (!done) fn() }
        }
        """,
    "app/main.js": """
        import { Cart as Basket, create, gross, text } from '../lib/index.js'
        import createApp, { Router } from '../server/app'
        import { request, parse } from 'http-client'

        async function load() {
          const answer = await request('/')
          answer.add(1)
          parse(answer)
          return create('gift')
        }

        function gross2(gross) { return gross(1) }

        export async function main() {
          const basket = new Basket('me')
          basket.add(await load()).add(2)
          basket.size
          Basket.empty()
          createApp().close()
          load().then(show).catch(fail)
          document.body.addEventListener('click', onClick)
          const lines = [1, 2].map(text.line)
          lines.forEach(line => line.trim())
          if (basket) {
            const gross = onClick
            gross()
          }
          gross(2)
          `${gross2(later)}`
          console.log(basket), [].push(1), new Map().get('a')
          function later() { return new Router() }
        }

        function show(item) { item?.discount?.() }
        function fail() {}
        function onClick() {}
        main()
        """,
    # It is called as a package is, and is not that package.
    "http-client.js": """
        export function request() {}
        export function parse() {}
        """,
}

TRUTH = """
lib/prices.gross -> lib/prices.rounded
lib/prices.reduced -> lib/prices.half
lib/cart.default.onChange -> lib/cart.default.total
lib/cart.default.empty -> lib/cart.default.constructor
lib/cart.default.size -> lib/cart.default.count
lib/cart.default.add -> lib/text/index.line
lib/cart.default.total -> lib/cart.Gift.price
lib/cart.default.total -> lib/prices.gross
lib/cart.Item.price -> lib/prices.reduced
lib/cart.Gift.price -> lib/cart.Item.price
lib/cart.Gift.price -> lib/cart.Gift.discount
lib/cart.makeCart -> lib/cart.Item.constructor
lib/text/index.line -> lib/text/index.trim
server/app.createApp -> server/app.init
server/app.init -> server/router.Router
server/app.init -> server/router.use
server/app.init -> server/helpers.wrap
server/app.App -> server/router.Router
server/app -> server/helpers.once
server/app.start -> server/app.start.<anonymous1>
server/app.start.<anonymous1> -> server/router.use
server/app.start -> server/helpers.once.<anonymous1>
server/app -> server/app.App
server/app -> server/app.start
server/router.use -> server/router.handle
server/router.handle -> server/router.handle.<anonymous1>
server/router.handle.<anonymous1> -> server/helpers.wrap.wrapped
server/router.handle.<anonymous1> -> server/app.stop
server/helpers.wrap.wrapped -> server/app.report
server/helpers.once.<anonymous1> -> server/app.listen
app/main.load -> lib/cart.makeCart
app/main.gross2 -> app/main.main.later
app/main.main -> lib/cart.default.constructor
app/main.main -> lib/cart.default.add
app/main.main -> lib/cart.default.size
app/main.main -> lib/cart.default.empty
app/main.main -> app/main.load
app/main.main -> server/app.createApp
app/main.main -> server/app.close
app/main.main -> app/main.show
app/main.main -> app/main.fail
app/main.main -> app/main.onClick
app/main.main -> lib/text/index.line
app/main.main -> app/main.main.<anonymous1>
app/main.main -> lib/prices.gross
app/main.main -> app/main.gross2
app/main.main.later -> server/router.Router
app/main.show -> lib/cart.Gift.discount
app/main -> app/main.main
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, JAVASCRIPT)
    truth = set(TRUTH.split("\n")) - {""}
    report("JavaScript", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
