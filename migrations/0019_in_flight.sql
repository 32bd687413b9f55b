-- How many tasks of all accounts were open, as the checks counted them: the load on the page of the operator. Kept for a month.
CREATE TABLE in_flight (
  at    INTEGER PRIMARY KEY,
  tasks INTEGER NOT NULL
) STRICT;
