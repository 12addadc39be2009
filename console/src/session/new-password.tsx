/** A new password, typed twice. */
import { PasswordInput } from '@mantine/core';
import { useState } from 'react';
import { passwordLengthMin } from '../../../src/api/session.ts';
import { signInWords } from '../strings/sign-in.ts';

const words = signInWords;

/** Reports the password, or null while it is too short or the second one differs. */
export function NewPassword({ onPassword }: { onPassword: (password: string | null) => void }) {
  const [password, setWord] = useState('');
  const [again, setAgain] = useState('');
  const report = (first: string, second: string): void =>
    onPassword(first.length >= passwordLengthMin && first === second ? first : null);
  return (
    <>
      <PasswordInput
        label={words.newPassword}
        autoComplete="new-password"
        value={password}
        onChange={(event) => {
          setWord(event.currentTarget.value);
          report(event.currentTarget.value, again);
        }}
        visibilityToggleButtonProps={{ 'aria-label': words.showPassword, tabIndex: 0 }}
      />
      <PasswordInput
        label={words.repeat}
        autoComplete="new-password"
        value={again}
        onChange={(event) => {
          setAgain(event.currentTarget.value);
          report(password, event.currentTarget.value);
        }}
        visibilityToggleButtonProps={{ 'aria-label': words.showPassword, tabIndex: 0 }}
        error={again !== '' && again !== password ? words.different : undefined}
      />
    </>
  );
}
