// Verifies a Sigstore bundle with a public key: node verify.mjs BUNDLE KEY.pem
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const require = createRequire(process.env.MODULES + '/');
const { bundleFromJSON } = require('@sigstore/bundle');
const { Verifier, toSignedEntity } = require('@sigstore/verify');

const [bundle, key] = process.argv.slice(2);
const publicKey = createPublicKey(readFileSync(key));
const trust = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [],
	publicKey: () => ({ publicKey, validFor: () => true }) };
const verifier = new Verifier(trust, { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 });
verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(readFileSync(bundle)))));
console.log('verified');
