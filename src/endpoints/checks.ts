/** Checks of every operation that no schema can express. */
import { InvalidField } from '#http/server/ports.ts'
import { checkMetadata } from '#schemas/parts/metadata.ts'
import { refuseForever } from '#webhooks/addresses.ts'
import { addressPolicies } from '#webhooks/policies.ts'

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
  if (environment === 'live' && body.urls?.webhook !== undefined) checkLiveWebhook(body.urls.webhook)
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

/** Nothing would ever be sent there, which would be noticed only when the first event is missing. */
function checkLiveWebhook(address: string): void {
  if (!/^https:/i.test(address)) {
    throw new InvalidField(
      'urls.webhook',
      `is ${show(address)}; allowed is an https address, the live environment reports to no other`,
    )
  }
  const refusal = URL.canParse(address) ? refuseForever(new URL(address), addressPolicies.live) : undefined
  if (refusal !== undefined)
    throw new InvalidField(
      'urls.webhook',
      `is ${show(address)}; allowed is a public https address: ${refusal}`,
    )
}
