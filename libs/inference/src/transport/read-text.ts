/** The first bytes of a body as text: all of it when it is shorter than `limit`. */
export async function readText(body: AsyncIterable<Buffer>, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length >= limit) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, limit);
}
