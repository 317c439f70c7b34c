package approval_test

const openSSHSigners = `# who may approve
alice@example.org,*@ops.example.org namespaces="file,threegate-request",valid-after="20200101" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFRV/pEP2y9FpxENQ0yGfsYqJw2W664sm7y7Ba3Wix1j alice
`

const openSSHSignature = `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgVFX+kQ/bL0WnEQ1DTIZ+xionDZ
brriybvLsFrdaLHWMAAAARdGhyZWVnYXRlLXJlcXVlc3QAAAAAAAAABnNoYTUxMgAAAFMA
AAALc3NoLWVkMjU1MTkAAABAO8cNh9hMioMF0ovnA8JnpTbVNLXHtfM1BxOmMdTP2adeqg
4xFDTzQVRz+AoyuHktp72XOzoxHjHFLUuV9AYbCg==
-----END SSH SIGNATURE-----
`
