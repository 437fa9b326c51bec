-- Where an import has got the photo from. Null for uploads.
ALTER TABLE photos ADD COLUMN source text;
-- When an import has unlisted the pet, because its file did not have it any more.
ALTER TABLE profiles ADD COLUMN missing_since bigint;
