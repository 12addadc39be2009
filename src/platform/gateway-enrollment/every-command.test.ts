/** Register, issue and consume follow the order of checks that every command has. */
import { at } from '../../testing/application-calls.ts';
import { commandOrderContract, type OpenCommand } from '../../testing/every-command-contract.ts';
import {
  gatewayId,
  type OpenEnrollment,
  openEnrollment,
  otherGatewayId,
  requestFingerprint,
} from '../../testing/gateway-enrollment.ts';

/** Rows from before the test's own calls do not count. */
function opened(
  enrollment: OpenEnrollment,
  command: Pick<OpenCommand, 'contract' | 'run' | 'input' | 'otherInput'>,
): OpenCommand {
  const { clock, store, port, hold } = enrollment;
  const before = { calls: port.calls.length, audit: store.journal.audit.length, events: store.journal.events.length };
  return {
    ...command,
    // Calls share no state but the store, so a second call is as good as a second process.
    runElsewhere: command.run,
    clock,
    resourceId: `gateway:${gatewayId}`,
    portCalls: () => port.calls.slice(before.calls).filter((name) => name !== 'recordRefusal'),
    breakReceipts: (fault) => port.break('findReceipt', fault),
    breakCommit: (fault) => port.break('commit', fault),
    breakRefusals: (fault) => port.break('recordRefusal', fault),
    hold,
    audit: () => store.journal.audit.slice(before.audit),
    events: () => store.journal.events.slice(before.events),
  };
}

commandOrderContract('register a gateway', async () => {
  const enrollment = openEnrollment();
  return opened(enrollment, {
    contract: enrollment.register.contract,
    run: enrollment.register,
    input: { gatewayId, displayName: 'Roof' },
    otherInput: { gatewayId, displayName: 'Cellar' },
  });
});

commandOrderContract('issue a claim', async () => {
  const enrollment = openEnrollment();
  await enrollment.registered();
  const { clock, issue } = enrollment;
  return opened(enrollment, {
    contract: issue.contract,
    run: issue,
    input: { gatewayId, claimExpiresAt: at(clock, 3_600_000) },
    otherInput: { gatewayId: otherGatewayId, claimExpiresAt: at(clock, 3_600_000) },
  });
});

commandOrderContract('consume a claim', async () => {
  const enrollment = openEnrollment();
  const enrollmentToken = await enrollment.issued();
  const { consume } = enrollment;
  const input = { gatewayId, enrollmentToken, credentialRequestFingerprint: requestFingerprint };
  return opened(enrollment, {
    contract: consume.contract,
    run: consume,
    input,
    otherInput: { ...input, credentialRequestFingerprint: 'b2'.repeat(32) },
  });
});
