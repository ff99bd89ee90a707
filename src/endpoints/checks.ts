/** What every operation checks and no schema can see. */
import { InvalidField } from '#http/ports.ts'
import { checkMetadata } from '#schemas/metadata.ts'

export function checkShared(
  body: { readonly simulationMode?: string; readonly metadata?: Readonly<Record<string, unknown>> },
  environment: 'test' | 'live',
): void {
  if (body.simulationMode !== undefined && environment === 'live') {
    throw new InvalidField('simulationMode', 'exists in the test environment only; leave it out')
  }
  const wrong = body.metadata && checkMetadata(body.metadata)
  if (wrong) throw new InvalidField('metadata', wrong)
}
