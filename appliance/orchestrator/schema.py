"""The tables of the orchestrator in ``global.db``, in the order in which they came."""

from typing import Final

from appliance.orchestrator.missions import schema as missions

_APPROVALS: Final = """
CREATE TABLE IF NOT EXISTS approvals (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  run TEXT NOT NULL,
  what TEXT NOT NULL,
  digest TEXT NOT NULL,
  arguments TEXT NOT NULL,
  why TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'withdrawn', 'used')),
  asked_at REAL NOT NULL,
  expires_at REAL NOT NULL,
  decided_at REAL,
  decided_by TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS approvals_by_run ON approvals (run, digest);
CREATE INDEX IF NOT EXISTS approvals_pending ON approvals (expires_at) WHERE state = 'pending';
"""
_TOOL_CALLS: Final = """
CREATE TABLE IF NOT EXISTS tool_calls (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at REAL NOT NULL,
  run TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  digest TEXT NOT NULL,
  arguments TEXT NOT NULL,
  verdict TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('running', 'done', 'refused', 'failed', 'cancelled')),
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  ms REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS tool_calls_by_run ON tool_calls (run, seq);
"""
_SESSIONS: Final = """
CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  stage TEXT NOT NULL DEFAULT 'initial',
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  conversation_state TEXT NOT NULL DEFAULT '{}',
  session_state TEXT NOT NULL DEFAULT '{}',
  capabilities TEXT NOT NULL DEFAULT '{}',
  observed_files TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX IF NOT EXISTS sessions_by_change ON sessions (updated_at);
CREATE TABLE IF NOT EXISTS session_messages (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session_checkpoints (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  at REAL NOT NULL,
  format INTEGER NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS session_checkpoints_by_session ON session_checkpoints (session, seq);
"""
MIGRATIONS: Final = (_APPROVALS, missions.SCHEMA, _TOOL_CALLS, _SESSIONS)
