"""The tables of one project, and of one generation. Paths are kept as bytes: not every file name is UTF-8."""

PROJECT = (
    """
CREATE TABLE blobs (
  recipe TEXT NOT NULL,
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  facts BLOB NOT NULL,
  UNIQUE (blob, hint)
);
CREATE TABLE generations (
  id TEXT PRIMARY KEY,
  repo TEXT NOT NULL,
  folder TEXT NOT NULL,
  tree TEXT NOT NULL,
  recipe TEXT NOT NULL,
  created_at REAL NOT NULL,
  info BLOB NOT NULL
);
CREATE INDEX generations_repo ON generations (repo);
CREATE INDEX generations_folder ON generations (folder);
CREATE INDEX generations_tree ON generations (tree, recipe);
CREATE TABLE published (
  repo TEXT PRIMARY KEY,
  generation TEXT NOT NULL REFERENCES generations (id)
) WITHOUT ROWID;
CREATE TABLE matrices (
  folder TEXT PRIMARY KEY,
  serial INTEGER NOT NULL,
  model TEXT NOT NULL,
  embedded INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  failed INTEGER NOT NULL
);
CREATE TABLE vector_tables (
  model TEXT PRIMARY KEY,
  version INTEGER NOT NULL
);
""",
    """
CREATE TABLE unsure (
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  limits TEXT NOT NULL,
  tries INTEGER NOT NULL,
  PRIMARY KEY (blob, hint)
) WITHOUT ROWID;
""",
    """
CREATE TABLE flows (
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  version INTEGER NOT NULL,
  flow BLOB NOT NULL,
  UNIQUE (blob, hint)
);
CREATE TABLE graphs (
  folder TEXT PRIMARY KEY,
  recipe TEXT NOT NULL,
  info BLOB NOT NULL
) WITHOUT ROWID;
""",
    """
CREATE TABLE branches (
  repo TEXT NOT NULL,
  branch TEXT NOT NULL,
  generation TEXT NOT NULL REFERENCES generations (id),
  PRIMARY KEY (repo, branch)
) WITHOUT ROWID;
INSERT INTO branches SELECT repo, '', generation FROM published;
DROP TABLE published;
ALTER TABLE branches RENAME TO published;
""",
    """
CREATE TABLE recipes (
  recipe TEXT PRIMARY KEY
) WITHOUT ROWID;
INSERT INTO recipes SELECT DISTINCT recipe FROM blobs;
""",
)

# Written while files are listed, read by the writer, then removed.
STAGING = """
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL,
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  flags INTEGER NOT NULL
);
CREATE TABLE left_out (path BLOB NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, beside INTEGER NOT NULL);
CREATE TABLE missing (
  id INTEGER PRIMARY KEY,
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  path BLOB NOT NULL
);
"""

# `generation.db`: written once, immutable after that. A chunk's symbols are ids of the table below.
GENERATION = """
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL,
  blob TEXT NOT NULL,
  hint TEXT NOT NULL,
  language TEXT NOT NULL,
  encoding TEXT NOT NULL,
  flags INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  first_chunk INTEGER NOT NULL,
  first_symbol INTEGER NOT NULL,
  torn INTEGER NOT NULL,
  problem TEXT NOT NULL
);
CREATE TABLE symbols (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  qualname TEXT NOT NULL,
  kind TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  signature TEXT NOT NULL,
  doc TEXT NOT NULL,
  parent INTEGER NOT NULL
);
CREATE TABLE left_out (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  beside INTEGER NOT NULL
);
CREATE TABLE secrets (file INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL);
"""

# Of chunks: a generation has one file of 32-bit numbers for each. `defines_start` says where in `defines` a chunk's begin.
ARRAYS = ("chunk_file", "chunk_start", "chunk_end", "chunk_symbol", "defines_start", "defines")

# `graph.db`: written once, behind a generation, in its folder. Symbols are those of the generation; -1 - f is file f itself,
# or as a source what stands in it outside of any symbol. Kinds and ways of knowing are numbers of `store.kinds`, confidences
# are in percent. `packed` has the edges once more as arrays, for those who go through all of them.
GRAPH = """
CREATE TABLE edges (
  target INTEGER NOT NULL,
  source INTEGER NOT NULL,
  line INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  how INTEGER NOT NULL,
  confidence INTEGER NOT NULL,
  PRIMARY KEY (target, source, line, kind)
) WITHOUT ROWID;
CREATE TABLE outside (
  source INTEGER NOT NULL,
  name TEXT NOT NULL,
  line INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  PRIMARY KEY (source, name, line, kind)
) WITHOUT ROWID;
CREATE TABLE unresolved (
  source INTEGER NOT NULL,
  name TEXT NOT NULL,
  line INTEGER NOT NULL
);
CREATE TABLE packed (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE families (
  language TEXT PRIMARY KEY,
  files INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  cut INTEGER NOT NULL
) WITHOUT ROWID;
"""

GRAPH_INDEXES = """
CREATE INDEX edges_source ON edges (source, target, line, kind, how, confidence);
CREATE INDEX unresolved_source ON unresolved (source);
CREATE INDEX unresolved_name ON unresolved (name);
"""

# Made after the rows are in: four times cheaper than keeping them sorted all along.
GENERATION_INDEXES = """
CREATE INDEX symbols_name ON symbols (folded, name);
CREATE INDEX symbols_file ON symbols (file);
CREATE INDEX left_out_reason ON left_out (reason);
CREATE INDEX left_out_path ON left_out (path);
"""

# `patch.db`: what a patch adds to the `generation.db` beside it, written once as that is. Ids go on where those end. What is
# replaced or gone is dead, in either of the two; its ids are never used again. `patch` says with which patch of a line
# something came or died. A posting says how often a token stands in a field of an added chunk (0: its text, 1: its names) or
# file (2: its path), a length how many tokens that field has.
PATCH = (
    GENERATION.replace("problem TEXT NOT NULL\n", "problem TEXT NOT NULL,\n  patch INTEGER NOT NULL DEFAULT 0\n")
    + """
CREATE TABLE dead (file INTEGER PRIMARY KEY, patch INTEGER NOT NULL);
CREATE TABLE dead_left_out (id INTEGER PRIMARY KEY);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  symbol INTEGER NOT NULL,
  tokens TEXT NOT NULL,
  latent BLOB NOT NULL
);
CREATE TABLE defines (chunk INTEGER NOT NULL, symbol INTEGER NOT NULL, PRIMARY KEY (chunk, symbol)) WITHOUT ROWID;
CREATE TABLE postings (
  field INTEGER NOT NULL,
  token TEXT NOT NULL,
  doc INTEGER NOT NULL,
  times INTEGER NOT NULL,
  PRIMARY KEY (field, token, doc)
) WITHOUT ROWID;
CREATE TABLE lengths (
  field INTEGER NOT NULL,
  doc INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (field, doc)
) WITHOUT ROWID;
"""
    + GENERATION_INDEXES
)
