import { describe, expect, test } from 'vitest';
import { seal, unseal } from './seal.ts';

describe('[identity §9] sealed values of a session', () => {
  test('opens with its cookie alone, and not when a byte of it was changed', () => {
    const sealed = seal('refresh-token', 'cookie');
    expect(unseal(sealed, 'cookie')).toBe('refresh-token');
    expect(unseal(sealed, 'other')).toBeNull();
    expect(sealed).not.toContain('refresh');
    expect(seal('refresh-token', 'cookie')).not.toBe(sealed);
    const bytes = Buffer.from(sealed, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(changed.toString('base64url'), 'cookie')).toBeNull();
    }
    for (const text of ['', 'x', sealed.slice(0, 20)]) expect(unseal(text, 'cookie')).toBeNull();
  });
});
