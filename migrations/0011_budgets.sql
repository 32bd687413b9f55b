-- What an account or a key may spend in a window. Its wallet object keeps the sums; D1 has them by day in spending.
ALTER TABLE wallet ADD COLUMN budget INTEGER CHECK (budget >= 0); -- what may be spent in a window; NULL is no budget
ALTER TABLE wallet ADD COLUMN budget_window TEXT CHECK (budget_window IN ('day', 'month')); -- UTC
