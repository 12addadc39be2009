import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Channel } from '../../site/protocol/index.ts';
import { brokerCertificates, endingSoon, fileCertificates } from './certificates.ts';
import { tlsFault } from './tls-files.ts';

const pem = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', 'driver', 'fixture', `${name}-cert.pem`), 'utf8');
const secure: Channel = {
  id: 'cloud',
  driver: 'mqtt',
  url: 'mqtts://broker.example:8883',
  ca_file: 'ca.pem',
  cert_file: 'cert.pem',
  key_file: 'key.pem',
};
const plain: Channel = { id: 'plain', driver: 'mqtt', url: 'mqtt://broker.example' };
const derived: Channel = { id: 'derived', driver: 'virtual' };
const ended = { beginMs: Date.parse('2020-01-01T00:00:00Z'), endMs: Date.parse('2020-01-31T00:00:00Z') };
const late = { beginMs: Date.parse('2026-11-21T07:39:58Z'), endMs: Date.parse('2126-10-28T07:39:58Z') };

/** With these files; the others are not given. */
const given = (ca: string | undefined, cert: string | undefined) =>
  fileCertificates(
    [derived, plain, secure],
    new Map([['cloud', { username: undefined, password: undefined, key: undefined, ca, cert }]]),
  );

describe('[alarms §2.2] the certificates of channels', () => {
  test('those in files: a chain ends with its first certificate, a list of authorities with its last one', () => {
    const both = pem('broker') + pem('ended');
    expect(given(both, both)).toEqual([
      { what: 'cert.pem of channel cloud', validity: ended },
      { what: 'ca.pem of channel cloud', validity: late },
    ]);
    expect(given(undefined, pem('broker'))).toEqual([{ what: 'cert.pem of channel cloud', validity: late }]);
    expect(given(undefined, undefined)).toEqual([]);
  });

  test('those of brokers, for channels over TLS: not known before the first connection', () => {
    const what = 'the certificate of the broker of channel cloud';
    const channels = [derived, plain, secure];
    const seen = (beginMs: number, endMs: number) =>
      brokerCertificates(channels, {
        certificateBeginMs: Float64Array.of(Number.NaN, 5, beginMs),
        certificateEndMs: Float64Array.of(Number.NaN, 7, endMs),
      });
    expect(seen(Number.NaN, Number.NaN)).toEqual([{ what, validity: null }]);
    expect(seen(late.beginMs, late.endMs)).toEqual([{ what, validity: late }]);
  });

  test('the time of notice, at its edge; what is not known does not end', () => {
    const certificates = [
      { what: 'a', validity: { beginMs: 0, endMs: 1000 } },
      { what: 'b', validity: null },
      { what: 'c', validity: { beginMs: 0, endMs: 1001 } },
    ];
    expect(endingSoon(certificates, 100, 900)).toEqual([{ what: 'a', endMs: 1000 }]);
    expect(endingSoon(certificates, 100, 899)).toEqual([]);
    expect(endingSoon(certificates, 0, 5000).map(({ what }) => what)).toEqual(['a', 'c']);
  });

  test('a certificate of less than three times the notice is named in the last third of its life', () => {
    const short = [{ what: 'a', validity: { beginMs: 1000, endMs: 1300 } }];
    expect(endingSoon(short, 5000, 1199)).toEqual([]);
    expect(endingSoon(short, 5000, 1200)).toHaveLength(1);
    expect(endingSoon(short, 99, 1200)).toEqual([]);
  });

  test('[points §3.2] a file is refused if any certificate in it cannot be read', () => {
    const torn = pem('ended').replace('MII', 'MI');
    const fault = (text: string) => tlsFault({ ca: { name: 'ca.pem', text }, cert: undefined, key: undefined });
    expect(fault(pem('broker') + pem('ended'))).toBeNull();
    expect(fault(pem('broker') + torn)).toBe('ca.pem contains no PEM certificate, or one that cannot be read');
  });
});
