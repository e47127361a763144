#!/bin/sh
# Makes the authority and the certificate of the tests' https server. They are for tests only and hold from 2020 to 2120, so
# that tests need no openssl: run this again only to change the names in the certificate.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"
cat >ca.cnf <<'CONFIG'
[ca]
default_ca = ours
[ours]
new_certs_dir = .
database = index.txt
serial = serial
default_md = sha256
default_startdate = 20200101000000Z
default_enddate = 21200101000000Z
policy = names
unique_subject = no
[names]
commonName = supplied
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[server]
subjectAltName = DNS:api.sluice.test, DNS:localhost, IP:127.0.0.1
CONFIG
touch index.txt
echo 01 >serial
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"; }
new_key authority 'Sluice test authority'
openssl ca -batch -config ca.cnf -selfsign -keyfile authority.key -extensions authority -in authority.csr -out authority.pem -notext
new_key server api.sluice.test
openssl ca -batch -config ca.cnf -keyfile authority.key -cert authority.pem -extensions server -in server.csr -out server.pem -notext
# The authority's key stays behind: without it nothing else can be signed.
cp authority.pem server.pem server.key "$here"
