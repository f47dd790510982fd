"""A repository of Go whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import GO
from tests.support.graphs import calls, report

FILES = {
    "go.mod": """
        // The module has another name than its folder.
        module example.com/shop/v2

        go 1.22
        """,
    "cmd/shop/main.go": """
        package main

        import (
            "context"
            "fmt"
            "net/http"

            . "example.com/shop/v2/internal/money"
            "example.com/shop/v2/store"
            web "example.com/shop/v2/web"
        )

        var opened = store.Open("x")

        func init() { register(run) }

        func main() {
            if err := run(context.Background()); err != nil {
                fmt.Println(err.Error())
            }
            http.HandleFunc("/", Handle)
            srv := web.NewServer(opened)
            srv.Use(logged, web.Recovered)
            defer srv.Close()
            go srv.Serve()
            srv.Put(Parse("1"))
            client := http.Client{}
            client.Get("x")
        }

        // It is called as what another package has.
        func Open(name string) {}

        var commands []func(context.Context) error

        func register(command func(context.Context) error) { commands = append(commands, command) }

        func all(ctx context.Context) {
            for _, command := range commands {
                command(ctx)
            }
        }
        """,
    "cmd/shop/run.go": """
        package main

        import (
            "context"
            "net/http"
        )

        func run(ctx context.Context) error {
            all(ctx)
            return step(ctx)
        }

        func step(context.Context) error { return nil }

        func Handle(w http.ResponseWriter, r *http.Request) { w.Write(nil) }

        func logged(next http.Handler) http.Handler {
            return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
                next.ServeHTTP(w, r)
                note()
            })
        }

        func note() {}
        """,
    # The package's name is not its folder's.
    "internal/money/price.go": """
        package money

        type Price struct{ cents int }

        func Parse(text string) (Price, error) { return build(text), nil }

        func build(text string) Price { return Price{} }

        func (p Price) String() string { return format(p.cents) }

        func (p *Price) Add(other Price) *Price {
            p.cents += other.cents
            return p
        }

        func format(cents int) string { return "" }

        type Prices []Price

        func (all Prices) Total() Price {
            var sum Price
            for _, each := range all {
                sum.Add(each)
            }
            return *sum.Add(all[0]).Add(all[1:][0])
        }
        """,
    "store/store.go": """
        package store

        import (
            "sync"

            "example.com/shop/v2/internal/money"
        )

        type Store interface {
            Reader
            Put(price money.Price, err error) error
        }

        type Reader interface {
            Get(key string) (money.Price, bool)
        }

        type base struct {
            sync.Mutex
            name string
        }

        func (b *base) Name() string { return b.name }
        func (b *base) Lock2() { b.Lock() }

        type Memory struct {
            *base
            rows  map[string]money.Price
            hooks []func(money.Price)
        }

        func (m *Memory) Put(price money.Price, err error) error {
            m.Lock()
            defer m.Unlock()
            m.Lock2()
            for _, hook := range m.hooks {
                hook(price)
            }
            price.String()
            return nil
        }

        func (m *Memory) Get(key string) (money.Price, bool) {
            price, ok := m.rows[key]
            price.Add(m.rows["b"])
            return price, ok
        }

        func (m *Memory) OnPut(hook func(money.Price)) { m.hooks = append(m.hooks, hook) }

        // It has both names, and takes other things.
        type Decoy struct{}

        func (Decoy) Put(key string) error           { return nil }
        func (Decoy) Get(key string) (string, bool)  { return "", false }

        // It reads alone.
        type Mirror struct{ Reader }

        type Kind int

        const (
            Small Kind = iota
            Large
        )

        func (k Kind) label() string { return "" }

        func Open(name string) Store {
            m := &Memory{base: &base{name: name}}
            m.OnPut(func(price money.Price) { price.Add(price) })
            m.OnPut(printed)
            Large.label()
            return m
        }

        func printed(price money.Price) { print(price.String()) }
        """,
    "store/store_linux.go": """
        package store

        func flush() {}
        """,
    "store/store_test.go": """
        package store_test

        import (
            "testing"

            "example.com/shop/v2/store"
        )

        func Open(t *testing.T) store.Store {
            t.Helper()
            return store.Open("t")
        }

        func TestGet(t *testing.T) {
            for _, tt := range []struct {
                key  string
                want func(string)
            }{{"a", check}, {key: "b"}} {
                t.Run(tt.key, func(t *testing.T) {
                    price, _ := Open(t).Get(tt.key)
                    tt.want(price.String())
                })
            }
        }

        func check(string) {}
        """,
    "web/server.go": """
        package web

        import (
            "log"
            "net/http"

            "example.com/shop/v2/store"
        )

        type Middleware func(http.Handler) http.Handler

        func (m Middleware) apply(h http.Handler) http.Handler { return m(h) }

        type Server struct {
            store.Store
            log   *log.Logger
            chain []Middleware
            http  http.Server
        }

        func NewServer(backend store.Store) *Server { return &Server{Store: backend} }

        func (s *Server) Use(all ...Middleware) { s.chain = append(s.chain, all...) }

        func (s *Server) Serve() error {
            var handler http.Handler
            for _, m := range s.chain {
                handler = m.apply(handler)
                m(handler)
            }
            s.log.Printf("x")
            s.each(func(price interface{ String() string }) { price.String() })
            f := s.Close
            f()
            (*Server).Printf(s)
            s.http.Close()
            return s.handle(nil)
        }

        // It is called as what the logger has.
        func (s *Server) Printf() {}
        func (s *Server) Close() error { return nil }
        func (s *Server) each(visit func(interface{ String() string })) { visit(nil) }

        func (s *Server) handle(x any) error {
            switch v := x.(type) {
            case *store.Memory:
                v.Name()
            case store.Reader:
                v.Get("x")
            case error, nil:
            }
            if r, ok := x.(store.Kind); ok {
                return fail(r)
            } else if close := len("x"); close > 1 {
                log := finder{}
                log.Printf()
            }
            return nil
        }

        type finder struct{}

        func (finder) Printf() {}

        func fail[T any](value T) error { return pick(errNew, value)() }

        func errNew() error { return nil }

        func pick[F any, T any](first F, second T) F { return first }

        func Recovered(next http.Handler) http.Handler { return Map(next, same[http.Handler]) }

        func Map[A, B any](value A, turn func(A) B) B { return turn(value) }

        func same[T any](value T) T { return value }
        """,
    # Nobody imports it, and it has the names of others.
    "legacy/server.go": """
        package web

        type Server struct{}

        func NewServer() *Server { return &Server{} }
        func (s *Server) Serve() { flush() }
        func flush() {}
        """,
}

TRUTH = """
cmd/shop/main -> store/store.Open
cmd/shop/main.init -> cmd/shop/main.register
cmd/shop/main.main -> cmd/shop/run.run
cmd/shop/main.main -> cmd/shop/run.Handle
cmd/shop/main.main -> web/server.NewServer
cmd/shop/main.main -> web/server.Server.Use
cmd/shop/main.main -> web/server.Server.Close
cmd/shop/main.main -> web/server.Server.Serve
cmd/shop/main.main -> store/store.Store.Put
cmd/shop/main.main -> store/store.Memory.Put
cmd/shop/main.main -> internal/money/price.Parse
cmd/shop/main.all -> cmd/shop/run.run
cmd/shop/run.run -> cmd/shop/main.all
cmd/shop/run.run -> cmd/shop/run.step
cmd/shop/run.logged.<anonymous> -> cmd/shop/run.note
cmd/shop/run.logged -> cmd/shop/run.logged.<anonymous>
internal/money/price.Parse -> internal/money/price.build
internal/money/price.Price.String -> internal/money/price.format
internal/money/price.Prices.Total -> internal/money/price.Price.Add
store/store.Memory.Put -> store/store.base.Lock2
store/store.Memory.Put -> store/store.Open.<anonymous>
store/store.Memory.Put -> store/store.printed
store/store.Memory.Put -> internal/money/price.Price.String
store/store.Memory.Get -> internal/money/price.Price.Add
store/store.Open -> store/store.Memory.OnPut
store/store.Open -> store/store.Kind.label
store/store.Open.<anonymous> -> internal/money/price.Price.Add
store/store.printed -> internal/money/price.Price.String
store/store_test.Open -> store/store.Open
store/store_test.TestGet -> store/store_test.TestGet.<anonymous>
store/store_test.TestGet.<anonymous> -> store/store_test.Open
store/store_test.TestGet.<anonymous> -> store/store.Reader.Get
store/store_test.TestGet.<anonymous> -> store/store.Memory.Get
store/store_test.TestGet.<anonymous> -> store/store_test.check
store/store_test.TestGet.<anonymous> -> internal/money/price.Price.String
web/server.Middleware.apply -> cmd/shop/run.logged
web/server.Middleware.apply -> web/server.Recovered
web/server.Server.Serve -> web/server.Middleware.apply
web/server.Server.Serve -> cmd/shop/run.logged
web/server.Server.Serve -> web/server.Recovered
web/server.Server.Serve -> web/server.Server.each
web/server.Server.Serve -> web/server.Server.Close
web/server.Server.Serve -> web/server.Server.Printf
web/server.Server.Serve -> web/server.Server.handle
web/server.Server.Serve.<anonymous> -> web/server.Server.Serve.<anonymous>.<type>.String
web/server.Server.Serve.<anonymous> -> internal/money/price.Price.String
web/server.Server.each -> web/server.Server.Serve.<anonymous>
web/server.Server.handle -> store/store.base.Name
web/server.Server.handle -> store/store.Reader.Get
web/server.Server.handle -> store/store.Memory.Get
web/server.Server.handle -> web/server.fail
web/server.Server.handle -> web/server.finder.Printf
web/server.fail -> web/server.pick
web/server.fail -> web/server.errNew
web/server.Recovered -> web/server.Map
web/server.Map -> web/server.same
legacy/server.Server.Serve -> legacy/server.flush
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, GO)
    truth = set(TRUTH.split("\n")) - {""}
    report("Go", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
