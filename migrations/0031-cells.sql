-- Cells: schemas with these same tables, each with merchants of its own. Only the tables of cell 0 are used for this
-- directory; those in other cells stay empty.

-- The cells beside cell 0. None is ever removed.
CREATE TABLE cell (
  cell        integer     NOT NULL CONSTRAINT cell_number CHECK (cell BETWEEN 1 AND 999),
  -- Which database it lies in: 0 is the one of cell 0, 1 the first of TOLLGATE_CELL_URLS, and so on.
  source      integer     NOT NULL CONSTRAINT cell_source CHECK (source >= 0),
  created_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT cell_pkey PRIMARY KEY (cell)
);

-- Where each merchant lives. A merchant without a row lives in cell 0.
CREATE TABLE merchant_cell (
  merchant_id   text        NOT NULL,
  cell          integer     NOT NULL,
  -- While it is being moved nobody serves it; a move whose time is over was cut off and has had no effect.
  moving_to     integer,
  moving_until  timestamptz,
  -- Rows that are still to be deleted there: they were moved away, and nobody serves them.
  moved_from    integer,
  changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT merchant_cell_pkey PRIMARY KEY (merchant_id)
);
CREATE INDEX merchant_cell_by_change ON merchant_cell (changed_at);
