/** Checks of every operation that no schema can express. */
import { InvalidField } from '#http/server/ports.ts'
import { checkMetadata } from '#schemas/parts/metadata.ts'

export function checkShared(
  body: {
    readonly simulationMode?: string
    readonly metadata?: Readonly<Record<string, unknown>>
    readonly urls?: { readonly return?: string; readonly cancel?: string; readonly webhook?: string }
  },
  environment: 'test' | 'live',
): void {
  if (body.simulationMode !== undefined && environment === 'live') {
    throw new InvalidField(
      'simulationMode',
      `is ${show(body.simulationMode)}; it exists in the test environment only: leave it out`,
    )
  }
  // An http webhook would never be called in live, which would be noticed only when the first event is missing.
  if (environment === 'live' && body.urls?.webhook !== undefined && !/^https:/i.test(body.urls.webhook)) {
    throw new InvalidField(
      'urls.webhook',
      `is ${show(body.urls.webhook)}; allowed is an https address, the live environment reports to no other`,
    )
  }
  // On plain http an attacker on the network could redirect the returning customer anywhere. Apps have schemes of their
  // own.
  const plain = (['return', 'cancel'] as const).find(name => /^http:/i.test(body.urls?.[name] ?? ''))
  if (environment === 'live' && plain !== undefined) {
    throw new InvalidField(
      `urls.${plain}`,
      `is ${show(body.urls?.[plain] ?? '')}; allowed is an https address, the live environment sends customers to no other`,
    )
  }
  const wrong = body.metadata && checkMetadata(body.metadata)
  if (wrong) throw new InvalidField('metadata', wrong)
}

/** 100 characters: enough to recognise it. */
const show = (value: string): string => JSON.stringify(value.slice(0, 100))
