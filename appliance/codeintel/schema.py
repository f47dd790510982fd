"""The tables of projects and repositories in ``global.db``, in the order in which they came."""

from typing import Final

from appliance.codeintel import wanted

_PROJECTS: Final = """
CREATE TABLE IF NOT EXISTS projects (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS repos (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL REFERENCES projects (id),
  name TEXT NOT NULL,
  source BLOB NOT NULL,
  branch TEXT,
  created_at REAL NOT NULL,
  last_attempt REAL,
  last_success REAL,
  error TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL DEFAULT '',
  remedy TEXT NOT NULL DEFAULT '',
  UNIQUE (project, name)
);
"""
_FAILURES: Final = "ALTER TABLE repos ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;"
_SETTINGS: Final = "ALTER TABLE repos ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';"
_WATCHED: Final = "ALTER TABLE repos ADD COLUMN watched TEXT NOT NULL DEFAULT '';"
MIGRATIONS: Final = (_PROJECTS, _FAILURES, _SETTINGS, _WATCHED, wanted.SCHEMA)
