/**
 * Removes secrets from providers' answers. Error texts may quote the request: the refused API key, the security code,
 * an account number. They are stored and shown, so these values are replaced first.
 */
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  ProviderAccount,
  ProviderHttp,
} from '#connectors/contract.ts'

const hidden = '…'

/** Shorter secrets would also match ordinary words. */
const shortestSecret = 8

/** An HTTP client whose answers have the secrets of the account replaced. */
export function hideSecrets(http: ProviderHttp, secrets: ProviderAccount['secrets']): ProviderHttp {
  const spellings = Object.values(secrets)
    .map(secret => secret.reveal().trim())
    .filter(value => value.length >= shortestSecret)
    .map(spellingsOf)
  return {
    async exchange(request, signal) {
      const answer = await http.exchange(request, signal)
      return answer.kind === 'answered' && spellings.some(spelling => answer.body.search(spelling) >= 0)
        ? { ...answer, body: spellings.reduce((body, each) => body.replace(each, hidden), answer.body) }
        : answer
    },
  }
}

/** Matches the secret verbatim and as JSON may escape it: special characters with a backslash or as \uXXXX. */
function spellingsOf(secret: string): RegExp {
  const characters = secret.split('').map(character => {
    if (/[a-z0-9]/i.test(character)) return character
    const number = character.charCodeAt(0).toString(16).padStart(4, '0')
    const byNumber = number.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)
    return String.raw`(?:\\?\u${number}|\\u${byNumber})`
  })
  return new RegExp(characters.join(''), 'g')
}

type Sent = Pick<AuthorizationRequest, 'card' | 'account'>
type Authorization = AuthorizationOutcome['authorization']

/** The outcome with the request's security code and account number replaced in its texts. */
export function hideSent(outcome: AuthorizationOutcome, sent: Sent): AuthorizationOutcome {
  const hide = hiderOf(sent)
  return hide ? { ...outcome, authorization: hideIn(outcome.authorization, hide) } : outcome
}

/** Undefined: the request held neither. Card numbers are masked wherever texts are stored or logged. */
function hiderOf({ card, account }: Sent): ((text: string) => string) | undefined {
  const code = card?.securityCode?.reveal().replace(/[^0-9]/g, '') || undefined
  const number = account?.number.reveal()
  if (code === undefined && number === undefined) return undefined
  return text => {
    const withoutNumber = number === undefined ? text : text.replaceAll(number, hidden)
    return code === undefined ? withoutNumber : withoutNumber.replace(wordOf(code), hidden)
  }
}

/** Does not match inside a longer number. */
const wordOf = (digits: string): RegExp => new RegExp(`(?<![0-9])${digits}(?![0-9])`, 'g')

function hideIn(authorization: Authorization, hide: (text: string) => string): Authorization {
  if (authorization.kind === 'unknown')
    return authorization.reason === undefined
      ? authorization
      : { ...authorization, reason: hide(authorization.reason) }
  if (!('provider' in authorization)) return authorization
  const { provider } = authorization
  return provider.responseText === undefined
    ? authorization
    : { ...authorization, provider: { ...provider, responseText: hide(provider.responseText) } }
}
