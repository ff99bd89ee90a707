/**
 * Translates Adyen's next action for the customer into one of the two that our pages support: redirect or instructions.
 */
import { dateAt, type Loose, present, recordAt, textAt } from '#connectors/adyen/loose.ts'
import type { CustomerAction, Instructions } from '#connectors/contract.ts'

export interface ReadAction {
  readonly action: CustomerAction
  readonly expiresAt?: Date
}

/** `wait`: the customer acts in their own app. Undefined: our pages cannot show this action. */
export function readAction(action: Loose | undefined): ReadAction | 'wait' | undefined {
  switch (textAt(action, 'type')) {
    case 'redirect':
    case 'nativeRedirect':
      return readRedirect(action)
    case 'voucher':
    case 'bankTransfer':
      return show(readInstructions(action), dateAt(action, 'expiresAt'))
    case 'qrCode':
      return textAt(action, 'qrCodeData') === undefined
        ? readRedirect(action)
        : show({ qrCode: textAt(action, 'qrCodeData') }, dateAt(action, 'expiresAt'))
    case 'await':
      return 'wait'
    default:
      // Fingerprints, challenges and SDK actions need Adyen's scripts on the page; we request redirects instead.
      return undefined
  }
}

function readRedirect(action: Loose | undefined): ReadAction | undefined {
  const url = textAt(action, 'url')
  if (url === undefined || !/^https?:\/\//.test(url)) return undefined
  const isPost = textAt(action, 'method')?.toUpperCase() === 'POST'
  const isChallenge = textAt(action, 'paymentMethodType') === 'scheme'
  return {
    action: {
      type: 'redirect',
      url,
      verb: isPost ? 'POST' : 'GET',
      ...(isPost ? { fields: readFields(recordAt(action, 'data')) } : {}),
      ...(isChallenge ? { challenge: true } : {}),
    },
  }
}

const readFields = (data: Loose | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(data ?? {}).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )

const readInstructions = (action: Loose | undefined): Instructions => ({
  reference: textAt(action, 'reference'),
  entity: textAt(action, 'entity') ?? textAt(action, 'collectionInstitutionNumber'),
  iban: textAt(action, 'iban') ?? textAt(action, 'accountNumber'),
  bic: textAt(action, 'bic'),
  accountHolderName: textAt(action, 'beneficiary'),
  downloadUrl: textAt(action, 'downloadUrl') ?? textAt(action, 'instructionsUrl'),
})

/** The instructions that Adyen returned, with the deadline, which the customer must meet. */
const show = (instructions: Instructions, expiresAt: Date | undefined): ReadAction => ({
  action: { type: 'instructions', instructions: present({ ...instructions, deadline: expiresAt }) ?? {} },
  ...(expiresAt === undefined ? {} : { expiresAt }),
})
