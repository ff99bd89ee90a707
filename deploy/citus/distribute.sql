-- Puts one cell onto a worker node of a Citus cluster, as a whole. Stop the gateways first, then:
--   psql -v cell=cell_01 -f distribute.sql "$DATABASE_URL"
-- See docs/cells.md.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL citus.enable_unsafe_triggers = on;
SELECT set_config('tollgate.cell', :'cell', true);

-- Citus cannot copy a CHECK on the whole row, because a shard has another name than its table. A trigger holds every row
-- to the same function.
DO $$
DECLARE
  cell text := current_setting('tollgate.cell');
  found record;
BEGIN
  FOR found IN
    SELECT c.conname AS rules, t.relname AS name FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    WHERE c.connamespace = cell::regnamespace AND c.contype = 'c' AND c.conname = t.relname || '_rules'
  LOOP
    EXECUTE format('CREATE FUNCTION %I.%I() RETURNS trigger LANGUAGE plpgsql AS
      $rules$ BEGIN PERFORM %I.%I(NEW); RETURN NEW; END $rules$', cell, found.rules, cell, found.name || '_follows_rules');
    EXECUTE format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE ON %I.%I FOR EACH ROW EXECUTE FUNCTION %I.%I()',
      found.rules, cell, found.name, cell, found.rules);
    EXECUTE format('ALTER TABLE %I.%I DROP CONSTRAINT %I', cell, found.name, found.rules);
  END LOOP;
  -- Citus runs the parts of a statement one after the other, each with its own checks. A row may come before the one it refers to.
  FOR found IN
    SELECT c.conname AS rules, t.relname AS name FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    WHERE c.connamespace = cell::regnamespace AND c.contype = 'f'
  LOOP
    EXECUTE format('ALTER TABLE %I.%I ALTER CONSTRAINT %I DEFERRABLE INITIALLY DEFERRED', cell, found.name, found.rules);
  END LOOP;
  -- A transaction over several nodes cannot notify, and nobody listens on a worker node: processes read merchants again after
  -- five seconds.
  EXECUTE format('DROP TRIGGER merchant_change ON %I.merchant', cell);
  EXECUTE format('DROP TRIGGER api_key_change ON %I.api_key', cell);
  -- What is not logged cannot be moved to another node while payments go on. Limits are counted in cell 0, so this one is empty.
  EXECUTE format('ALTER TABLE %I.limit_use SET LOGGED', cell);
END $$;

SELECT citus_schema_distribute(:'cell');
COMMIT;
