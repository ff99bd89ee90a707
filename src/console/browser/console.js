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

// On a phone the navigation is one long row: where we are is to be seen.
for (const here of document.querySelectorAll('nav [aria-current], .tabs [aria-current]'))
  here.parentElement.parentElement.closest('nav, .tabs')?.scrollTo({ left: here.offsetLeft - 80 })

// A payment that waits for its provider is looked at again until it does not.
const waiting = document.querySelector('[data-refresh]:not([data-refresh=""])')
if (waiting) setTimeout(() => location.reload(), Number(waiting.dataset.refresh) * 1000)

// Shortcuts: / searches, g and a letter goes to a page, ? tells them all.
const places = [...document.querySelectorAll('nav [data-key]')]
let isGoing = false

function toggleKeys() {
  const shown = document.querySelector('.keys')
  if (shown) return shown.remove()
  const panel = document.createElement('aside')
  panel.className = 'keys'
  panel.setAttribute('role', 'status')
  const list = document.createElement('ul')
  const rows = [
    ['/', 'Search'],
    ['?', 'These shortcuts'],
    ...places.map(link => [`g ${link.dataset.key}`, link.textContent]),
  ]
  for (const [keys, title] of rows) {
    const row = document.createElement('li')
    for (const key of keys.split(' ')) {
      const cap = document.createElement('kbd')
      cap.textContent = key
      row.append(cap, ' ')
    }
    row.append(title)
    list.append(row)
  }
  panel.append(list)
  document.body.append(panel)
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select'))
    return
  const place = isGoing && places.find(link => link.dataset.key === event.key)
  isGoing = event.key === 'g' && !isGoing
  if (place) place.click()
  else if (event.key === '?') toggleKeys()
  else if (event.key === 'Escape') document.querySelector('.keys')?.remove()
  else if (event.key === '/') {
    event.preventDefault()
    document.querySelector('#q')?.focus()
  }
})
