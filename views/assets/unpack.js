// The page's data: base64 of deflated bytes, each in an element of its own, unpacked when it is asked for.

/** The bytes of an element. Its text is given up: it would stay in memory beside what becomes of it. */
async function unpack(id) {
  const holder = byId(id);
  if (!holder) throw new Error(`the page has no data named ${id}; it is damaged`);
  const text = holder.textContent;
  holder.remove();
  let packed;
  if (Uint8Array.fromBase64) {
    packed = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    packed = new Uint8Array(binary.length);
    for (let i = 0; i < packed.length; i += 1) packed[i] = binary.charCodeAt(i);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpackJson(id) {
  return JSON.parse(new TextDecoder().decode(await unpack(id)));
}

/** Numbers of seven bits per byte, lowest first, into an array of the length given or as long as there are bytes. */
function numbers(bytes, into) {
  let at = 0;
  for (let i = 0; i < into.length; i += 1) {
    let byte = bytes[at++];
    let value = byte & 0x7f;
    let unit = 128;
    while (byte > 0x7f) {
      byte = bytes[at++];
      value += (byte & 0x7f) * unit;
      unit *= 128;
    }
    into[i] = value;
  }
  return into;
}

/** How many numbers are in the bytes. */
function countNumbers(bytes) {
  let count = 0;
  for (let i = 0; i < bytes.length; i += 1) if (bytes[i] < 0x80) count += 1;
  return count;
}

