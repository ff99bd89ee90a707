-- The owner who made a set-up link in the console and has read it there. Null: it was made on the command line, or by an earlier
-- release.

ALTER TABLE operator_link ADD COLUMN made_by uuid
  CONSTRAINT operator_link_of_maker REFERENCES operator (operator_id) ON DELETE CASCADE;
