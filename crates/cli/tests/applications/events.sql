CREATE TABLE stream (id uuid PRIMARY KEY, kind text NOT NULL, version bigint NOT NULL DEFAULT 0);
CREATE TABLE event (id bigint GENERATED ALWAYS AS IDENTITY, stream_id uuid NOT NULL, version bigint NOT NULL, data jsonb NOT NULL, at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (at);
CREATE TABLE event_2024 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE event_rest PARTITION OF event DEFAULT;
CREATE TABLE projection (name text PRIMARY KEY, position bigint NOT NULL DEFAULT 0);
INSERT INTO event (stream_id, version, data, at) VALUES ('00000000-0000-4000-8000-000000000001', 1, '{"a": 1}', '2024-05-05');
INSERT INTO projection VALUES ('totals', 1);
