CREATE TABLE tenant (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE document (tenant_id int NOT NULL REFERENCES tenant, id int, title text, body text, PRIMARY KEY (tenant_id, id));
ALTER TABLE document ENABLE ROW LEVEL SECURITY; ALTER TABLE document FORCE ROW LEVEL SECURITY;
CREATE POLICY by_tenant ON document USING (tenant_id = current_setting('app.tenant')::int) WITH CHECK (tenant_id = current_setting('app.tenant')::int);
CREATE VIEW titles AS SELECT tenant_id, id, title FROM document;
INSERT INTO tenant VALUES (1, 'One'); INSERT INTO document VALUES (1, 1, 'T', 'B');
