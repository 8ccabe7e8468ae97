CREATE TABLE accounts () WITH (collection = on);
CREATE TABLE notes () WITH (collection = on, change_feed = on);
-- Everybody sees his own notes, and those that are shared; he alone writes them, and gives none away.
ALTER TABLE notes SET (
    list_rule = $$doc -> 'owner' = claims -> 'sub' OR doc @> '{"shared": true}'$$,
    view_rule = $$doc -> 'owner' = claims -> 'sub' OR doc @> '{"shared": true}'$$,
    create_rule = $$doc -> 'owner' = claims -> 'sub'$$,
    update_rule = $$doc -> 'owner' = claims -> 'sub' AND old.doc -> 'owner' = claims -> 'sub'$$,
    delete_rule = $$doc -> 'owner' = claims -> 'sub'$$);
ALTER TABLE notes ADD CHECK (jsonb_matches_schema('{"required": ["owner", "text"], "properties": {"text": {"type": "string", "maxLength": 1000}}}', doc));
