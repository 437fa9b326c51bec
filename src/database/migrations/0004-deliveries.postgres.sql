-- The attempts that retries by hand took from attempts, which counts for the retry schedule. Responses show the sum.
ALTER TABLE webhook_deliveries ADD COLUMN earlier_attempts integer NOT NULL DEFAULT 0;
