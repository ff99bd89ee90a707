/* Small helps of the console. Everything works without them, except passkeys, which browsers offer to scripts only. */

const decode = text =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0))
const encode = bytes =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

async function makePasskey(options) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: decode(options.challenge),
      user: { ...options.user, id: decode(options.user.id) },
      excludeCredentials: [],
    },
  })
  const { attestationObject, clientDataJSON } = credential.response
  return describe(credential, {
    attestationObject: encode(attestationObject),
    clientDataJSON: encode(clientDataJSON),
  })
}

async function usePasskey(options) {
  const credential = await navigator.credentials.get({
    publicKey: { ...options, challenge: decode(options.challenge), allowCredentials: [] },
  })
  const { authenticatorData, clientDataJSON, signature, userHandle } = credential.response
  return describe(credential, {
    authenticatorData: encode(authenticatorData),
    clientDataJSON: encode(clientDataJSON),
    signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : undefined,
  })
}

const describe = (credential, response) => ({
  id: credential.id,
  rawId: encode(credential.rawId),
  type: credential.type,
  response,
  clientExtensionResults: credential.getClientExtensionResults(),
})

for (const form of document.querySelectorAll('[data-passkey]')) {
  if (!window.PublicKeyCredential) continue
  form.hidden = false
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const options = JSON.parse(form.dataset.options)
    try {
      const credential =
        form.dataset.passkey === 'create' ? await makePasskey(options) : await usePasskey(options)
      form.elements.credential.value = JSON.stringify(credential)
      form.submit()
    } catch {
      // The person closed the dialogue, or has no passkey here: the form stays as it is.
    }
  })
}

for (const code of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent)
    button.textContent = 'Copied'
  })
  code.after(button)
}

// A payment that waits for its provider is looked at again until it does not.
const waiting = document.querySelector('[data-refresh]:not([data-refresh=""])')
if (waiting) setTimeout(() => location.reload(), Number(waiting.dataset.refresh) * 1000)

document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.target.closest('input, textarea, select')) return
  event.preventDefault()
  document.querySelector('#q')?.focus()
})
