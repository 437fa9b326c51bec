-- The attempts before the last retry by hand, which starts the schedule over.
ALTER TABLE webhook_deliveries ADD COLUMN earlier_attempts integer NOT NULL DEFAULT 0;
