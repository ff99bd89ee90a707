-- Which answer to the dispute is being sent to the provider, and how long no other may be. The end is real time: a process that
-- died leaves its dispute to others.
ALTER TABLE dispute ADD COLUMN answer_holder uuid;
ALTER TABLE dispute ADD COLUMN answer_held_until timestamptz;
