"""A repository of C whose calls were worked out by hand, with what leads others astray."""

from textwrap import dedent

from appliance.codeintel.resolve.families import C
from tests.support.graphs import calls, report

FILES = {
    "include/kv/store.h": """
        #ifndef KV_STORE_H
        #define KV_STORE_H
        #include <stddef.h>
        #include "kv/log.h"

        typedef struct store store_t;
        typedef int (*visit_fn)(const char *key, void *context);

        struct ops {
            const char *name;
            int (*open)(store_t *store, const char *path);
            void (*close)(store_t *store);
        };

        store_t *store_new(const struct ops *ops);
        void store_free(store_t *store);
        int store_each(store_t *store, visit_fn visit, void *context);
        int store_generated(store_t *store);
        extern const struct ops memory_ops, disk_ops;
        extern int (*store_hook)(store_t *);

        static inline size_t store_clamp(size_t n, size_t most) { return n > most ? most : n; }
        #endif
        """,
    "include/kv/log.h": """
        #pragma once
        #include "kv/store.h" /* and that includes this */
        #define LOG(...) log_write(__FILE__, __VA_ARGS__)
        #define LOG_ERROR(fmt, ...) do { LOG(fmt, __VA_ARGS__); if (log_fatal()) abort(); } while (0)
        #define log_flush(x) (log_flush)((x), 1)
        void log_write(const char *file, const char *fmt, ...);
        int log_fatal(void);
        void (log_flush)(int level, int now);
        """,
    "src/log.c": """
        #include "kv/log.h"
        #include <stdio.h>

        static int level;
        static void write(const char *text) { fputs(text, stderr); }

        void log_write(const char *file, const char *fmt, ...) {
            write(fmt);
        }
        int log_fatal(void) { return level > 3; }
        void (log_flush)(int level, int now) { fflush(stderr); }
        """,
    "src/store.c": """
        #include <kv/store.h>
        #include <stdlib.h>
        #include <string.h>
        #include "table.h"

        struct entry { struct entry *next; char *key; };
        struct store {
            const struct ops *ops;
            struct entry *head;
            int (*compare)(const void *, const void *);
        };

        int (*store_hook)(store_t *);

        static int compare(const void *a, const void *b) { return strcmp(a, b); }
        static int backwards(const void *a, const void *b) { return -compare(a, b); }
        static void init(store_t *store) { store->compare = compare; }

        store_t *store_new(const struct ops *ops) {
            store_t *store = calloc(1, sizeof(*store));
            init(store);
            store->ops = ops;
            if (store->ops->open(store, "x")) {
                LOG_ERROR("%s", ops->name);
                store_free(store);
            }
            return store;
        }

        void store_free(store_t *store) {
            if (!store) return;
            store->ops->close(store);
            free(store);
        }

        int store_each(store_t *store, visit_fn visit, void *context) {
            int (*order)(const void *, const void *) = backwards;
            struct entry *entry;
            qsort(store->head, 3, sizeof *entry, order);
            TABLE_EACH(entry, store->head) {
                if ((*visit)(entry->key, context)) break;
            }
            if (store_hook) store_hook(store);
            return store->compare("a", "b");
        }
        """,
    "src/table.h": """
        struct row;
        #define TABLE_EACH(item, head) for ((item) = table_first(head); (item); (item) = (item)->next)
        void *table_first(void *head);
        """,
    "src/table.c": """
        #include "table.h"
        static void init(void) {}
        void *table_first(void *head) { init(); return head; }
        """,
    "src/backends.c": """
        #include "kv/store.h"

        static int open(store_t *store, const char *path);
        static void memory_close(store_t *store) { LOG("closed"); }

        const struct ops memory_ops = { "memory", open, memory_close };

        static int disk_open(store_t *store, const char *path) {
        #ifdef _WIN32
            return win_open(path);
        #elif defined(KV_SYNC)
            return sync_open(path);
        #else
            return store_clamp(1, 2);
        #endif
        }
        static void disk_close(store_t *store) { log_flush(1); }

        static int open(store_t *store, const char *path) { return 0; }

        const struct ops disk_ops = { .close = disk_close, .open = disk_open, .name = "disk" };
        """,
    "src/win.c": """
        #ifdef _WIN32
        int win_open(const char *path) { return CreateFile(path); }
        #else
        int sync_open(const char *path) { return path != 0; }
        #endif
        """,
    "src/commands.c": """
        #include "kv/store.h"
        #include "commands.h"

        typedef struct command { const char *name; handler_fn *handler; unsigned flags; } command;

        static int get(client *c) { return reply(c, "value"); }
        static int set(client *c) { return c->store != 0; }
        static int quit(client *c) { return 0; }
        static int unused(client *c) { return get(c); }

        static command commands[] = {
            { "get", get, 0 },
            { "set", set, 1 },
        };
        handler_fn *const fallbacks[] = { [1] = &quit };

        int dispatch(client *c, int which) {
            command *found = &commands[which];
            if (!found->handler) return fallbacks[which](c);
            return found->handler(c);
        }

        int reply(client *c, const char *text) {
            int (*write)(client *, const char *) = c->write;
            write(c, text);
            return 0;
        }
        """,
    "src/commands.h": """
        typedef struct client client;
        typedef int handler_fn(client *c);
        struct client {
            void *store;
            int (*write)(client *, const char *);
            union { handler_fn *once; int fd; } then;
        };
        int dispatch(client *c, int which);
        int reply(client *c, const char *text);
        """,
    "src/main.c": """
        #include <stdio.h>
        #include "kv/store.h"
        #include "commands.h"
        #include "util.h"

        static int print_key(const char *key, void *context) { return printf("%s", key); }
        static int to_socket(client *c, const char *text) { return c->then.fd; }
        static int announce(store_t *store) { puts("ready"); return 0; }
        static int bye(client *c) { return 1; }
        static void usage(void) { die("usage"); }

        static handler_fn *choose(int get) {
            return get ? bye : NULL; /* get is no command here */
        }

        int main(int argc, char **argv) {
            store_t *store = store_new(&memory_ops);
            client c = { .store = store, .write = to_socket, .then.once = bye };
            store_hook = announce;
            if (argc < 2) usage();
            c.then.once(&c);
            choose(argc)(&c);
            store_each(store, print_key, NULL);
            {
                int (*dispatch)(void) = rand;
                dispatch();
            }
            while (dispatch(&c, 0)) ;
            store_generated(store);
            printf("%d", MAX(1, 2));
            return EXIT;
        }
        """,
    "src/util.h": """
        #define MAX(a, b) ((a) > (b) ? (a) : (b))
        #define EXIT 0
        #define die quit_with
        void quit_with(const char *why);
        int printf_all(const char *text);
        """,
    "src/util.c": """
        #include <stdlib.h>
        #include "util.h"
        void quit_with(const char *why) { exit(printf_all(why)); }
        int printf_all(const char *text) { return text[0]; }
        """,
    # Two more programs: each has a main and a helper of its own, and neither is linked with the rest.
    "tools/dump/main.c": """
        #include "helper.h"
        int main(void) { return helper(1) + store_clamp(1); }
        """,
    "tools/dump/helper.h": "int helper(int x);\nint store_clamp(int x);\n",
    "tools/dump/helper.c": """
        #include "helper.h"
        int helper(int x) { return x; }
        int store_clamp(int x) { return helper(x); }
        """,
    "tools/load/main.c": """
        #include "helper.h"
        static int printf(const char *text) { return 0; }
        int main(int argc, char **argv) { helper(2); return printf("x"); }
        """,
    "tools/load/helper.h": "void helper(int x);\n",
    "tools/load/helper.c": """
        #include "helper.h"
        void helper(int x) { while (x--) helper(x); }
        """,
}

TRUTH = """
include/kv/log.h.LOG -> src/log.c.log_write
include/kv/log.h.LOG_ERROR -> include/kv/log.h.LOG
include/kv/log.h.LOG_ERROR -> src/log.c.log_fatal
include/kv/log.h.log_flush -> src/log.c.log_flush
src/log.c.log_write -> src/log.c.write
src/store.c.backwards -> src/store.c.compare
src/store.c.store_new -> src/store.c.init
src/store.c.store_new -> src/backends.c.open
src/store.c.store_new -> src/backends.c.disk_open
src/store.c.store_new -> include/kv/log.h.LOG_ERROR
src/store.c.store_new -> src/store.c.store_free
src/store.c.store_free -> src/backends.c.memory_close
src/store.c.store_free -> src/backends.c.disk_close
src/store.c.store_each -> src/store.c.backwards
src/store.c.store_each -> src/table.h.TABLE_EACH
src/store.c.store_each -> src/main.c.print_key
src/store.c.store_each -> src/main.c.announce
src/store.c.store_each -> src/store.c.compare
src/table.h.TABLE_EACH -> src/table.c.table_first
src/table.c.table_first -> src/table.c.init
src/backends.c.memory_close -> include/kv/log.h.LOG
src/backends.c.disk_open -> src/win.c.win_open
src/backends.c.disk_open -> src/win.c.sync_open
src/backends.c.disk_open -> include/kv/store.h.store_clamp
src/backends.c.disk_close -> include/kv/log.h.log_flush
src/commands.c.get -> src/commands.c.reply
src/commands.c.unused -> src/commands.c.get
src/commands.c.dispatch -> src/commands.c.quit
src/commands.c.dispatch -> src/commands.c.get
src/commands.c.dispatch -> src/commands.c.set
src/commands.c.reply -> src/main.c.to_socket
src/main.c.usage -> src/util.c.quit_with
src/main.c.main -> src/store.c.store_new
src/main.c.main -> src/main.c.usage
src/main.c.main -> src/main.c.bye
src/main.c.main -> src/main.c.choose
src/main.c.main -> src/store.c.store_each
src/main.c.main -> src/commands.c.dispatch
src/main.c.main -> include/kv/store.h.store_generated
src/main.c.main -> src/util.h.MAX
src/util.c.quit_with -> src/util.c.printf_all
tools/dump/main.c.main -> tools/dump/helper.c.helper
tools/dump/main.c.main -> tools/dump/helper.c.store_clamp
tools/dump/helper.c.store_clamp -> tools/dump/helper.c.helper
tools/load/main.c.main -> tools/load/helper.c.helper
tools/load/main.c.main -> tools/load/main.c.printf
tools/load/helper.c.helper -> tools/load/helper.c.helper
"""


def test_the_calls_of_a_small_repository_are_those_found_by_hand() -> None:
    found = calls({path: dedent(source) for path, source in FILES.items()}, C)
    truth = set(TRUTH.split("\n")) - {""}
    report("C", found, truth)
    assert sorted(found - truth) == []
    assert sorted(truth - found) == []
