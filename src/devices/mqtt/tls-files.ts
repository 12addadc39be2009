/** The certificate files of an MQTT channel [points §3.2]: checked where they are read, because the library throws at each connection. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { connectionReason } from './mqtt-library.ts';

/** Contents in PEM; a name is for the message. */
export interface TlsFiles {
  readonly ca: TlsFile | undefined;
  readonly cert: TlsFile | undefined;
  readonly key: TlsFile | undefined;
}

interface TlsFile {
  readonly name: string;
  readonly text: string;
}

/** The first fault, in one line; null if a connection can be made with them. */
export function tlsFault({ ca, cert, key }: TlsFiles): string | null {
  for (const file of [ca, cert])
    if (file !== undefined && !works(() => certificatesIn(file.text)))
      return `${file.name} contains no PEM certificate, or one that cannot be read`;
  if (key !== undefined && !works(() => createPrivateKey(key.text)))
    return `${key.name} contains no PEM private key, or the key has a passphrase`;
  if (
    cert !== undefined &&
    key !== undefined &&
    !new X509Certificate(cert.text).checkPrivateKey(createPrivateKey(key.text))
  )
    return `${key.name} is not the key of ${cert.name}`;
  try {
    createSecureContext({ ca: ca?.text, cert: cert?.text, key: key?.text });
    return null;
  } catch (error) {
    return `the certificate files cannot be used: ${connectionReason(error)}`;
  }
}

/** All of a PEM text; throws if one cannot be read, because OpenSSL would silently leave out those behind it. */
export function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [pem];
  return blocks.map((block) => new X509Certificate(block));
}

function works(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
