-- What a merchant settles about the pages its customers meet.

ALTER TABLE merchant
  -- The types of the methods it takes, in its order. NULL: the whole catalogue, and the core methods on pages.
  ADD COLUMN methods text[] CHECK (cardinality(methods) BETWEEN 1 AND 1000),
  -- Look of the pages (logo, colours, font), checked by the code that reads it.
  ADD COLUMN theme json CHECK (octet_length(theme::text) <= 8192),
  -- Origins whose pages may show ours in a frame. NULL: none may.
  ADD COLUMN frame_origins text[] CHECK (cardinality(frame_origins) BETWEEN 1 AND 50);
