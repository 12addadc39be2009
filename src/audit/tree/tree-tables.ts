/**
 * The tables of the audit tree in the site database (docs/formats/audit.md), for each engine. Trees and tiles are append-only;
 * retention removes events, never their hashes. Never edit a released step: add one.
 */

declare module '../../storage/database.ts' {
  interface SiteTables {
    audit_tree: AuditTreeTable;
    audit_tile: AuditTileTable;
    audit_cosigned: AuditCosignedTable;
  }
}

/** One tree per chain, and one more after each acknowledged break. */
interface AuditTreeTable {
  chain_id: number;
  /** From 1. */
  segment: number;
  /** The log's name in checkpoints: never changed, because holders of checkpoints identify the log by it. */
  origin: string;
  /** Sequence of the event that is entry 0. */
  first_sequence: number;
}

/** Hashes of a tile. An incomplete tile of level 0 is stored if retention removes its events. */
interface AuditTileTable {
  chain_id: number;
  segment: number;
  level: number;
  tile: number;
  /** Number of hashes, 1 to 256. */
  width: number;
  /** Root over them. */
  root: Uint8Array;
  /** 32 bytes each. */
  hashes: Uint8Array;
}

/** The newest checkpoint with the cosignatures that the site's policy requires. */
interface AuditCosignedTable {
  chain_id: number;
  segment: number;
  size: number;
  /** The signed note. */
  note: string;
}

export const auditTreeInFile = `
  CREATE TABLE audit_tree (
    chain_id INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    origin TEXT NOT NULL,
    first_sequence INTEGER NOT NULL,
    PRIMARY KEY (chain_id, segment)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE audit_tile (
    chain_id INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    level INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    width INTEGER NOT NULL,
    root BLOB NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (chain_id, segment, level, tile, width)
  ) STRICT;
  CREATE TABLE audit_cosigned (
    chain_id INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    size INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (chain_id, segment)
  ) STRICT, WITHOUT ROWID;

  -- INSERT OR REPLACE deletes without firing delete triggers, so each insert trigger also refuses what exists.
  CREATE TRIGGER audit_tree_insert BEFORE INSERT ON audit_tree
    WHEN NEW.segment <> 1 + (SELECT coalesce(max(segment), 0) FROM audit_tree WHERE chain_id = NEW.chain_id)
    BEGIN SELECT RAISE(ABORT, 'a tree of the audit follows the one before'); END;
  CREATE TRIGGER audit_tree_update BEFORE UPDATE ON audit_tree
    BEGIN SELECT RAISE(ABORT, 'trees of the audit are never changed'); END;
  CREATE TRIGGER audit_tree_delete BEFORE DELETE ON audit_tree
    BEGIN SELECT RAISE(ABORT, 'trees of the audit are never removed'); END;
  CREATE TRIGGER audit_tile_insert BEFORE INSERT ON audit_tile
    WHEN EXISTS (SELECT 1 FROM audit_tile WHERE chain_id = NEW.chain_id AND segment = NEW.segment AND level = NEW.level
      AND tile = NEW.tile AND width = NEW.width)
    BEGIN SELECT RAISE(ABORT, 'hashes of the audit are kept once'); END;
  CREATE TRIGGER audit_tile_update BEFORE UPDATE ON audit_tile
    BEGIN SELECT RAISE(ABORT, 'hashes of the audit are never changed'); END;
  CREATE TRIGGER audit_tile_delete BEFORE DELETE ON audit_tile
    BEGIN SELECT RAISE(ABORT, 'hashes of the audit are never removed'); END;
`;

const refused = (table: string, text: string): string => `
  CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN RAISE EXCEPTION '${text}'; END
  $$;
  CREATE TRIGGER ${table}_change BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_refuse();
  CREATE TRIGGER ${table}_truncate BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuse();
`;

export const auditTreeOnServer = `
  CREATE TABLE audit_tree (
    chain_id bigint NOT NULL,
    segment bigint NOT NULL,
    origin text COLLATE "C" NOT NULL,
    first_sequence bigint NOT NULL,
    PRIMARY KEY (chain_id, segment)
  );
  CREATE TABLE audit_tile (
    chain_id bigint NOT NULL,
    segment bigint NOT NULL,
    level bigint NOT NULL,
    tile bigint NOT NULL,
    width bigint NOT NULL,
    root bytea NOT NULL,
    hashes bytea NOT NULL,
    PRIMARY KEY (chain_id, segment, level, tile, width)
  );
  CREATE TABLE audit_cosigned (
    chain_id bigint NOT NULL,
    segment bigint NOT NULL,
    size bigint NOT NULL,
    note text NOT NULL,
    PRIMARY KEY (chain_id, segment)
  );
  CREATE FUNCTION audit_tree_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      IF NEW.segment <> 1 + (SELECT coalesce(max(segment), 0) FROM audit_tree WHERE chain_id = NEW.chain_id) THEN
        RAISE EXCEPTION 'a tree of the audit follows the one before';
      END IF;
      RETURN NEW;
    END
  $$;
  CREATE TRIGGER audit_tree_insert BEFORE INSERT ON audit_tree FOR EACH ROW EXECUTE FUNCTION audit_tree_insert();
  ${refused('audit_tree', 'trees of the audit are never changed')}
  ${refused('audit_tile', 'hashes of the audit are never changed')}
`;
