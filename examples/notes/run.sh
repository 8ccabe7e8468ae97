#!/bin/sh
# Notes for several users: http://localhost:8000. Makes what it needs in a folder at the first start. Needs `cairn` and `node` (20 or later).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-data} http=${HTTP:-8080} app=${APP:-8000}
umask 077
mkdir -p "$data"
if [ ! -f "$data/notes.yaml" ]; then
    cairn "$data/notes.cairn" --script "$here/setup.sql"
    secret=$(node -p 'require("crypto").randomBytes(32).toString("hex")')
    cat >"$data/notes.yaml" <<END
http: {listen: 127.0.0.1:$http, origins: ["http://localhost:$app"]}
jwt: {keys: {app: {algorithm: HS256, secret: "$secret"}}, databases: [notes]}
END
    cairn token create "$data" accounts --scopes read,write --database notes --collection accounts >"$data/token"
fi
cairn serve "$data" --config "$data/notes.yaml" &
trap 'kill $! 2>/dev/null' EXIT
DATA=$data CAIRN=http://localhost:$http APP=$app node "$here/app.mjs"
