/** The doctor's check of the audit trail's hash chain. Hashes are computed here and not in SQL, unlike the other checks. */
import type pg from 'pg'
import { verifyAudit } from '#storage/audit/audit.ts'
import type { CheckResult } from '#storage/doctor/doctor.ts'

export async function examineAudit(reader: Pick<pg.Pool, 'query'>): Promise<CheckResult> {
  const { faults } = await verifyAudit(reader)
  return {
    name: 'audit-chain',
    sentence: 'No row of the audit trail was changed, is missing or was cut off at the end.',
    found: faults.length,
    // It belongs to the installation and to no merchant.
    examples: faults.map(detail => ({ merchantId: '-', detail })),
  }
}
