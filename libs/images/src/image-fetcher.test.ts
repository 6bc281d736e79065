import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/protocol';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { dataUrl, png } from '../testing/samples.js';
import { NameServer, WebServer } from '../testing/servers.js';
import { ImageFetcher } from './image-fetcher.js';
import { ImageLoader, type LoadedImage } from './image-loader.js';
import { dnsAddresses, INTERNET, type Network } from './network.js';

const IMAGE = png(640, 480);
const NEVER = new AbortController().signal;
const PARAM = 'input[0].content[1].image_url';

/** What the server answers to a path. */
const ANSWERS: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/image': (_request, response) => send(response, IMAGE),
  '/upper-case': (_request, response) =>
    send(response, IMAGE, { 'content-type': 'Image/PNG; charset=binary' }),
  '/html': (_request, response) => send(response, IMAGE, { 'content-type': 'text/html' }),
  '/no-type': (_request, response) => void response.writeHead(200).end(IMAGE),
  '/svg': (_request, response) => send(response, Buffer.from('<svg/>'), { 'content-type': 'image/svg+xml' }),
  '/no-image': (_request, response) => send(response, Buffer.from('<html>secret</html>')),
  '/empty': (_request, response) => send(response, Buffer.alloc(0)),
  '/another-image': (_request, response) => send(response, IMAGE, { 'content-type': 'image/gif' }),
  '/pixels': (_request, response) => send(response, png(1_000_000, 1_000_000)),
  '/gzip': (_request, response) => send(response, gzipSync(IMAGE), { 'content-encoding': 'gzip' }),
  '/missing': (_request, response) =>
    void response.writeHead(404, { 'content-type': 'image/png' }).end(IMAGE),
  '/failing': (_request, response) =>
    void response.writeHead(500, { 'content-type': 'image/png' }).end(IMAGE),
  '/nothing': (_request, response) => void response.writeHead(204).end(),
  '/declared-huge': (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 10_000_000_000 }).write(IMAGE);
  },
  '/endless': (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  },
  '/silent': () => undefined,
  '/stuck': (_request, response) => void response.writeHead(200, { 'content-type': 'image/png' }).write('x'),
  '/dripping': (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  },
  '/cut': (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': 5000 }).write(IMAGE);
    setTimeout(() => response.destroy(), 20);
  },
  '/to': ({ url = '' }, response) => {
    const location = Buffer.from(decodeURIComponent(url.split('?')[1] ?? '')).toString('latin1');
    // A body that nobody reads.
    response.writeHead(302, { location }).end(Buffer.alloc(300_000));
  },
  '/to-nowhere': (_request, response) => void response.writeHead(302).end(),
};

function send(response: ServerResponse, body: Buffer, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'image/png', ...headers }).end(body);
}

let web: WebServer;
/** Behind it is what nobody may reach. */
let secret: WebServer;
beforeEach(async () => {
  web = await WebServer.start((request, response) => {
    ANSWERS[request.url?.split('?')[0] ?? '']?.(request, response);
  });
  secret = await WebServer.start((_request, response) => send(response, IMAGE));
});
afterEach(async () => {
  expect(secret.requests).toHaveLength(0);
  await web.stop();
  await secret.stop();
});

/** Loads images from a server that is listed as `web.test`; every other name means what `names` says. */
function loader({
  names = {},
  network = {},
  maxBytes = 1_000_000,
  timeoutMs = 60_000,
}: {
  names?: Record<string, readonly string[]>;
  network?: Partial<Network>;
  maxBytes?: number;
  timeoutMs?: number;
} = {}): ImageLoader {
  const known: Record<string, readonly string[]> = { 'web.test': ['127.0.0.1'], ...names };
  const fetcher = new ImageFetcher({
    timeoutMs,
    allowHosts: [`web.test:${web.port}`],
    network: {
      ...INTERNET,
      isUsualPort: () => true,
      addressesOf: (name) => Promise.resolve(known[name] ?? []),
      ...network,
    },
  });
  return new ImageLoader({ maxBytes, fetcher });
}

const load = async (url: string, by = loader()): Promise<LoadedImage | undefined> =>
  (await by.load([{ url, param: PARAM }], NEVER))[0];

/** All that a client learns of a fetch that did not work, whatever was in its way. */
async function expectRefused(url: string, by = loader()): Promise<void> {
  const thrown: unknown = await load(url, by).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(ApiError);
  const error = thrown as ApiError;
  expect(error.body).toEqual({
    type: 'invalid_request_error',
    code: 'failed_to_download_image',
    message: 'The image could not be downloaded.',
    param: PARAM,
  });
  expect([error.status, error.cause, error.retryAfter]).toEqual([400, undefined, undefined]);
}

const at = (path: string) => `http://web.test:${web.port}${path}`;

describe('an image behind a URL', () => {
  it.each(['/image', '/upper-case'])('is fetched from %s', async (path) => {
    expect(await load(at(path))).toEqual({ url: dataUrl(IMAGE), fetched: true, width: 640, height: 480 });
  });

  it('is asked for with nothing that identifies anybody', async () => {
    await load(at('/image'));
    const { method, headers, url } = web.requests[0] as IncomingMessage;
    expect([method, url]).toEqual(['GET', '/image']);
    expect(Object.keys(headers).sort()).toEqual(['accept', 'connection', 'host', 'user-agent']);
  });

  it('is fetched through redirects, up to three', async () => {
    const through = (times: number): string =>
      times === 0 ? at('/image') : at(`/to?${encodeURIComponent(through(times - 1))}`);
    expect(await load(through(3))).toMatchObject({ width: 640 });
    expect(await load(at('/to?/image'))).toMatchObject({ width: 640 });
    await expectRefused(through(4));
    expect(web.requests).toHaveLength(4 + 2 + 4);
  });

  it('is fetched once for each place it has, a few at a time, and comes in order', async () => {
    const sources = Array.from({ length: 9 }, (_, index) => ({
      url: index % 3 === 0 ? dataUrl(png(index + 1, 1)) : at('/image'),
      param: PARAM,
    }));
    const images = await loader().load(sources, NEVER);
    expect(images.map(({ width }) => width)).toEqual([1, 640, 640, 4, 640, 640, 7, 640, 640]);
    expect(web.requests).toHaveLength(6);
  });

  it('is not fetched when another image of the request is wrong', async () => {
    const sources = [at('/image'), 'data:image/png;base64,AAAA'].map((url) => ({
      url,
      param: url.slice(0, 4),
    }));
    expect(() => loader().load(sources, NEVER)).toThrow(ApiError);
    expect(web.requests).toHaveLength(0);
  });

  it('ends with the turn', async () => {
    const gone = new AbortController();
    const loading = loader().load([{ url: at('/silent'), param: PARAM }], gone.signal);
    while (web.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const reason = new Error('the client left');
    gone.abort(reason);
    await expect(loading).rejects.toBe(reason);
    while (web.cut === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});

describe('a fetch that is refused says one thing only', () => {
  it.each(
    Object.keys(ANSWERS).filter(
      (path) => !['/image', '/upper-case', '/to', '/endless', '/declared-huge'].includes(path),
    ),
  )('for the answer of %s', async (path) => {
    await expectRefused(at(path), loader({ timeoutMs: 500 }));
  });

  it.each(['/declared-huge', '/endless'])('for more bytes than there may be: %s', async (path) => {
    await expectRefused(
      at(path),
      loader({ maxBytes: 300_000, timeoutMs: path === '/endless' ? 60_000 : 500 }),
    );
    while (web.cut === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('for images that have too many bytes together', async () => {
    const by = loader({ maxBytes: IMAGE.length * 2 });
    const two = [at('/image'), at('/image')].map((url) => ({ url, param: PARAM }));
    expect(await by.load(two, NEVER)).toHaveLength(2);
    const three = [...two, { url: at('/image'), param: PARAM }];
    await expect(Promise.resolve(by.load(three, NEVER))).rejects.toMatchObject({
      code: 'failed_to_download_image',
    });
  });

  it('for a server that is not there, a name that does not exist, and what is no URL', async () => {
    await expectRefused('http://127.0.0.1:1/', loader({ network: { isPublic: () => true } }));
    await expectRefused('http://nowhere.test/');
    await expectRefused('http://');
    await expectRefused('http://[::1/');
    await expectRefused(`http://web.test:${web.port}/${'a'.repeat(9000)}`);
  });

  it.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '１２７.0.0.1',
    '0.0.0.0',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '168.63.129.16',
    '224.0.0.1',
    '255.255.255.255',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'private.test',
    'mapped.test',
    'mixed.test',
  ])('for the host %s', async (host) => {
    const names = {
      localhost: ['127.0.0.1'],
      'localhost.': ['127.0.0.1', '::1'],
      'private.test': ['127.0.0.1'],
      'mapped.test': ['::ffff:127.0.0.1'],
      'mixed.test': ['93.184.216.34', '127.0.0.1'],
    };
    await expectRefused(`http://${host}:${secret.port}/`, loader({ names }));
    await expectRefused(at(`/to?${encodeURIComponent(`http://${host}:${secret.port}/`)}`), loader({ names }));
  });

  it.each(['user@', 'user:password@', ':password@', 'web.test@'])(
    'for credentials: %s',
    async (credentials) => {
      await expectRefused(`http://${credentials}web.test:${web.port}/image`);
      expect(web.requests).toHaveLength(0);
    },
  );

  it.each([
    'file:///etc/passwd',
    'ftp://web.test/image',
    'gopher://127.0.0.1/',
    'data:image/png;base64,AAAA',
    '//',
    '\\\\',
  ])('for a redirect to %s', async (location) => {
    await expectRefused(at(`/to?${encodeURIComponent(location)}`));
    expect(web.requests).toHaveLength(1);
  });

  it('for a port that is not usual', async () => {
    const usual = { isUsualPort: (url: URL) => INTERNET.isUsualPort(url) };
    const names = { 'other.test': ['127.0.0.1'] };
    const network = { ...usual, isPublic: () => true };
    await expectRefused(`http://other.test:${web.port}/image`, loader({ names, network }));
    expect(web.requests).toHaveLength(0);
    expect(await load(at('/image'), loader({ network: usual }))).toMatchObject({ width: 640 });
  });

  it('and never goes through a proxy of the environment', async () => {
    const before = { ...process.env };
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY'])
      process.env[name] = `http://127.0.0.1:${secret.port}`;
    try {
      expect(await load(at('/image'))).toMatchObject({ width: 640 });
    } finally {
      process.env = before;
    }
  });
});

describe('a name that means something else a moment later', () => {
  let names: NameServer;
  afterEach(() => names.stop());

  /** A network where 127.0.0.1 is the one public address, and names are those of the test's own server. */
  const network = (): Partial<Network> => ({
    addressesOf: (name, signal) => dnsAddresses(name, signal, [names.server]),
    isPublic: (address) => address === '127.0.0.1',
  });

  it('is asked for once, and the connection goes to the address that was checked', async () => {
    names = await NameServer.start(['127.0.0.1', '127.0.0.9', '127.0.0.9']);
    const by = loader({ network: network() });
    expect(await load(`http://rebinding.test:${web.port}/image`, by)).toMatchObject({ width: 640 });
    expect(names.questions).toBe(1);
    await expectRefused(`http://rebinding.test:${web.port}/image`, by);
    expect(web.requests).toHaveLength(1);
  });

  it('is checked again at every redirect', async () => {
    names = await NameServer.start(['127.0.0.1', '127.0.0.9']);
    await expectRefused(`http://rebinding.test:${web.port}/to?/image`, loader({ network: network() }));
    expect([names.questions, web.requests.length]).toEqual([2, 1]);
  });

  it('is given up with everything else when its time is over', async () => {
    names = await NameServer.start([undefined]);
    await expectRefused(
      `http://silent.test:${web.port}/image`,
      loader({ network: network(), timeoutMs: 200 }),
    );
    expect(names.questions).toBe(1);
  });
});

describe('what is not fetched at all', () => {
  it('is everything where fetching is off', () => {
    const off = new ImageLoader({ maxBytes: 1000 });
    expect(() => off.load([{ url: at('/image'), param: PARAM }], NEVER)).toThrow(
      expect.objectContaining({ code: 'invalid_image_url', param: PARAM }),
    );
    expect(off.load([{ url: dataUrl(IMAGE), param: PARAM }], NEVER)).toEqual([
      { url: dataUrl(IMAGE), fetched: false, width: 640, height: 480 },
    ]);
  });

  it('is a request for a crowd of images', () => {
    const sources = Array.from({ length: 51 }, (_, index) => ({
      url: at('/image'),
      param: `image ${index}`,
    }));
    expect(() => loader().load(sources, NEVER)).toThrow(
      expect.objectContaining({ code: 'invalid_image_url', param: 'image 50' }),
    );
    expect(web.requests).toHaveLength(0);
  });
});
