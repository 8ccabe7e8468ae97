CREATE TABLE member (id bigint PRIMARY KEY, handle varchar(32) NOT NULL UNIQUE, avatar bytea, presence text DEFAULT 'offline' CHECK (presence IN ('online', 'away', 'offline')));
CREATE TABLE channel (id bigint PRIMARY KEY, name text, topic text DEFAULT '' NOT NULL, is_private boolean DEFAULT false);
CREATE TABLE membership (channel_id bigint REFERENCES channel ON DELETE CASCADE, member_id bigint REFERENCES member ON DELETE CASCADE, since timestamptz DEFAULT now(), last_read bigint, PRIMARY KEY (channel_id, member_id));
CREATE TABLE message (id bigserial PRIMARY KEY, channel_id bigint NOT NULL REFERENCES channel, member_id bigint REFERENCES member ON DELETE SET NULL (member_id), body text, reactions jsonb DEFAULT '[]'::jsonb, reply_to bigint REFERENCES message, sent timestamptz DEFAULT now());
CREATE INDEX ON message (channel_id, id DESC) INCLUDE (member_id);
CREATE VIEW unread AS SELECT m.member_id, m.channel_id, count(x.id) AS n FROM membership m LEFT JOIN message x ON x.channel_id = m.channel_id AND x.id > coalesce(m.last_read, 0) GROUP BY 1, 2;
CREATE FUNCTION send(c bigint, m bigint, b text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE new_id bigint; BEGIN IF NOT EXISTS (SELECT FROM membership WHERE channel_id = c AND member_id = m) THEN RAISE EXCEPTION 'not a member' USING ERRCODE = '42501', HINT = 'Join first.'; END IF; INSERT INTO message (channel_id, member_id, body) VALUES (c, m, b) RETURNING id INTO new_id; RETURN new_id; EXCEPTION WHEN foreign_key_violation THEN RETURN NULL; END $$;
INSERT INTO member VALUES (1, 'ada', '\x00ff', 'online'); INSERT INTO channel VALUES (1, 'general'); INSERT INTO membership VALUES (1, 1, '2024-01-01');
SELECT send(1, 1, 'hi');
