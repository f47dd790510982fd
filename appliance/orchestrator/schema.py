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
MIGRATIONS: Final = (_APPROVALS, missions.SCHEMA, _TOOL_CALLS)
