"""What a web application keeps: a small HTTP server whose threads share one database.

    python store.py [tasks.cairn] [port]            # then: curl localhost:8000/ -d 'write a letter'; curl localhost:8000/

POST / adds a task, POST /ID marks one as done, GET / lists what is left.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pycairndb


def open_store(path):
    db = pycairndb.connect(path, autocommit=True, row_factory=pycairndb.dict_row)
    db.execute(
        "CREATE TABLE IF NOT EXISTS task (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL CHECK (title <> ''), "
        "done boolean NOT NULL DEFAULT false, made timestamptz NOT NULL DEFAULT now())"
    )
    return db


def handler(path):
    class Handler(BaseHTTPRequestHandler):
        def setup(self):
            super().setup()
            # Each request's thread has its own connection: the file is opened once all the same.
            self.db = pycairndb.connect(path, autocommit=True, row_factory=pycairndb.dict_row)

        def finish(self):
            self.db.close()
            super().finish()

        def do_GET(self):
            self.answer(200, self.db.execute("SELECT id, title FROM task WHERE NOT done ORDER BY made, id").fetchall())

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            try:
                if self.path == "/":
                    made = self.db.execute("INSERT INTO task (title) VALUES (?) RETURNING id, title", (body,)).fetchone()
                    self.answer(201, made)
                else:
                    changed = self.db.execute("UPDATE task SET done = true WHERE id = ?", (int(self.path[1:]),)).rowcount
                    self.answer(200 if changed else 404, {"changed": changed})
            except (ValueError, pycairndb.IntegrityError) as error:
                self.answer(400, {"error": str(error)})

        def answer(self, status, value):
            text = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    return Handler


def serve(path, port):
    db = open_store(path)  # Open for as long as the server is.
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(path))
    return db, server


if __name__ == "__main__":
    path, port = (sys.argv[1:] + ["tasks.cairn", "8000"][len(sys.argv) - 1 :])[:2]
    db, server = serve(path, int(port))
    print(f"http://127.0.0.1:{server.server_port}/")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        db.close()
