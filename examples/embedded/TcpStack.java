/**
 * A small TCP/IP stack between two hosts on a link that loses, repeats and damages packets.
 *
 * <p>IPv4 without options or fragments, ICMP echo, UDP, and TCP with handshake, sliding window, retransmission and orderly
 * close. Packets live in fixed pools of byte arrays; nothing is allocated after the start but the hosts themselves.
 */
public final class TcpStack {
    static final int MTU = 200;
    static final int STEPS = 4000;
    static final int TRANSFER = 12_000;

    private TcpStack() {}

    /** A packet as bytes in network order. */
    static final class Packet {
        final byte[] data = new byte[MTU];
        int length;

        int u8(int at) {
            return data[at] & 0xFF;
        }

        int u16(int at) {
            return u8(at) << 8 | u8(at + 1);
        }

        int u32(int at) {
            return u16(at) << 16 | u16(at + 2);
        }

        void put8(int at, int value) {
            data[at] = (byte) value;
        }

        void put16(int at, int value) {
            put8(at, value >> 8);
            put8(at + 1, value);
        }

        void put32(int at, int value) {
            put16(at, value >> 16);
            put16(at + 2, value);
        }

        /** The Internet checksum (RFC 1071) of a range, on top of a sum. */
        int checksum(int from, int to, int start) {
            int sum = start;
            int at = from;
            for (; at + 1 < to; at += 2) {
                sum += u16(at);
            }
            if (at < to) {
                sum += u8(at) << 8;
            }
            while (sum >>> 16 != 0) {
                sum = (sum & 0xFFFF) + (sum >>> 16);
            }
            return ~sum & 0xFFFF;
        }

        void copyFrom(Packet other) {
            length = other.length;
            for (int i = 0; i < length; i++) {
                data[i] = other.data[i];
            }
        }
    }

    /** Packets on their way, first in, first out. */
    static final class Queue {
        private final Packet[] slots = new Packet[16];
        private int head;
        private int size;

        Queue() {
            for (int i = 0; i < slots.length; i++) {
                slots[i] = new Packet();
            }
        }

        boolean put(Packet packet) {
            if (size == slots.length) {
                return false;
            }
            slots[head + size & 15].copyFrom(packet);
            size++;
            return true;
        }

        Packet take() {
            if (size == 0) {
                return null;
            }
            Packet packet = slots[head];
            head = head + 1 & 15;
            size--;
            return packet;
        }
    }

    /** One direction of the link. */
    static class Link {
        final Queue queue = new Queue();

        void send(Packet packet) {
            queue.put(packet);
        }

        Packet receive() {
            return queue.take();
        }
    }

    /** A link in bad weather. */
    static final class LossyLink extends Link {
        private int state;
        int lost;

        LossyLink(int seed) {
            state = seed;
        }

        private int below(int bound) {
            state = state * 1664525 + 1013904223;
            return (state >>> 8) % bound;
        }

        @Override
        void send(Packet packet) {
            int fate = below(40);
            if (fate == 0) {
                lost++;
                return;
            }
            if (fate == 1) {
                queue.put(packet);
            } else if (fate == 2) {
                int at = below(packet.length);
                packet.put8(at, packet.u8(at) ^ 1 << below(8));
            }
            queue.put(packet);
        }
    }

    /** What a protocol above IP does with a packet that is for it. */
    interface Protocol {
        int number();

        void receive(Host host, Packet packet, int from);
    }

    /** Header offsets, and what is common to all packets. */
    static final class Ip {
        static final int PROTOCOL = 9;
        static final int CHECKSUM = 10;
        static final int SOURCE = 12;
        static final int DESTINATION = 16;
        static final int HEADER = 20;

        private Ip() {}

        static void header(Packet p, int protocol, int source, int destination, int id) {
            p.put16(0, 0x4500);
            p.put16(2, p.length);
            p.put16(4, id);
            p.put16(6, 0x4000);
            p.put8(8, 64);
            p.put8(PROTOCOL, protocol);
            p.put16(CHECKSUM, 0);
            p.put32(SOURCE, source);
            p.put32(DESTINATION, destination);
            p.put16(CHECKSUM, p.checksum(0, HEADER, 0));
        }

        static boolean isSound(Packet p) {
            return p.length >= HEADER && p.u8(0) == 0x45 && p.u16(2) == p.length && p.checksum(0, HEADER, 0) == 0;
        }

        /** The sum of the pseudo header that UDP and TCP include. */
        static int pseudo(Packet p) {
            return p.u16(SOURCE) + p.u16(SOURCE + 2) + p.u16(DESTINATION) + p.u16(DESTINATION + 2) + p.u8(PROTOCOL) + p.length - HEADER;
        }
    }

    /** A host: an address, two links, its protocols. */
    static final class Host {
        final int address;
        private final Link out;
        private final Link in;
        private final Protocol[] protocols;
        private int nextId = 1;
        int dropped;

        Host(int address, Link out, Link in, Protocol... protocols) {
            this.address = address;
            this.out = out;
            this.in = in;
            this.protocols = protocols;
        }

        void send(Packet packet, int protocol, int destination) {
            Ip.header(packet, protocol, address, destination, nextId++);
            out.send(packet);
        }

        void poll() {
            for (Packet p = in.receive(); p != null; p = in.receive()) {
                if (!Ip.isSound(p) || p.u32(Ip.DESTINATION) != address) {
                    dropped++;
                    continue;
                }
                deliver(p);
            }
        }

        private void deliver(Packet p) {
            int number = p.u8(Ip.PROTOCOL);
            for (int i = 0; i < protocols.length; i++) {
                if (protocols[i].number() == number) {
                    protocols[i].receive(this, p, p.u32(Ip.SOURCE));
                    return;
                }
            }
            dropped++;
        }
    }

    /** Echo (RFC 792). */
    static final class Icmp implements Protocol {
        private final Packet reply = new Packet();
        int answered;
        int returned;

        @Override
        public int number() {
            return 1;
        }

        void ping(Host host, int destination, int sequence) {
            reply.length = Ip.HEADER + 8 + 16;
            reply.put16(Ip.HEADER, 0x0800);
            reply.put16(Ip.HEADER + 4, 7);
            reply.put16(Ip.HEADER + 6, sequence);
            for (int i = 0; i < 16; i++) {
                reply.put8(Ip.HEADER + 8 + i, sequence + i);
            }
            finish(host, destination);
        }

        private void finish(Host host, int destination) {
            reply.put16(Ip.HEADER + 2, 0);
            reply.put16(Ip.HEADER + 2, reply.checksum(Ip.HEADER, reply.length, 0));
            host.send(reply, number(), destination);
        }

        @Override
        public void receive(Host host, Packet p, int from) {
            if (p.checksum(Ip.HEADER, p.length, 0) != 0) {
                host.dropped++;
                return;
            }
            if (p.u8(Ip.HEADER) == 8) {
                answered++;
                reply.copyFrom(p);
                reply.put8(Ip.HEADER, 0);
                finish(host, from);
            } else {
                returned++;
            }
        }
    }

    /** What a program does with a datagram. */
    abstract static class Handler {
        abstract void datagram(Udp udp, Host host, Packet p, int from);
    }

    /** Keeps a running sum of what comes in, and answers with it. */
    static final class Summing extends Handler {
        private int sum;

        @Override
        void datagram(Udp udp, Host host, Packet p, int from) {
            for (int at = Ip.HEADER + 8; at < p.length; at++) {
                sum = sum * 31 + p.u8(at);
            }
            udp.send(host, from, p.u16(Ip.HEADER + 2), p.u16(Ip.HEADER), sum);
        }
    }

    /** Remembers the last answer. */
    static final class Remembering extends Handler {
        int last;
        int count;

        @Override
        void datagram(Udp udp, Host host, Packet p, int from) {
            last = p.u32(Ip.HEADER + 8);
            count++;
        }
    }

    /** Datagrams (RFC 768). */
    static final class Udp implements Protocol {
        private final Packet packet = new Packet();
        private final Handler handler;

        Udp(Handler handler) {
            this.handler = handler;
        }

        @Override
        public int number() {
            return 17;
        }

        void send(Host host, int destination, int sourcePort, int port, int value) {
            packet.length = Ip.HEADER + 12;
            packet.put16(Ip.HEADER, sourcePort);
            packet.put16(Ip.HEADER + 2, port);
            packet.put16(Ip.HEADER + 4, packet.length - Ip.HEADER);
            packet.put16(Ip.HEADER + 6, 0);
            packet.put32(Ip.HEADER + 8, value);
            Ip.header(packet, number(), host.address, destination, 0);
            packet.put16(Ip.HEADER + 6, packet.checksum(Ip.HEADER, packet.length, Ip.pseudo(packet)));
            host.send(packet, number(), destination);
        }

        @Override
        public void receive(Host host, Packet p, int from) {
            if (p.length < Ip.HEADER + 12 || p.checksum(Ip.HEADER, p.length, Ip.pseudo(p)) != 0) {
                host.dropped++;
                return;
            }
            handler.datagram(this, host, p, from);
        }
    }

    /** One connection (RFC 793): go-back-n with a window of four segments. */
    static final class Tcp implements Protocol {
        private static final int FIN = 1;
        private static final int SYN = 2;
        private static final int ACK = 16;
        private static final int HEADER = Ip.HEADER + 20;
        private static final int SEGMENT = MTU - HEADER;
        private static final int TIMEOUT = 12;

        static final int CLOSED = 0;
        static final int LISTEN = 1;
        static final int SYN_SENT = 2;
        static final int SYN_RECEIVED = 3;
        static final int ESTABLISHED = 4;
        static final int FIN_WAIT = 5;
        static final int CLOSE_WAIT = 6;
        static final int DONE = 7;

        private final Packet packet = new Packet();
        private final Stream stream;
        int state = CLOSED;
        private int peer;
        /** Sequence numbers: first unacknowledged, next to send, and next expected from the peer. */
        private int unacknowledged;
        private int nextToSend;
        private int expected;
        private int start;
        private int timer;
        int retransmissions;

        Tcp(Stream stream) {
            this.stream = stream;
        }

        @Override
        public int number() {
            return 6;
        }

        void listen() {
            state = LISTEN;
        }

        void connect(Host host, int destination) {
            peer = destination;
            begin(1000);
            state = SYN_SENT;
            segment(host, SYN, start, 0, 0);
        }

        private void begin(int sequence) {
            start = sequence;
            unacknowledged = sequence;
            nextToSend = sequence + 1;
            timer = TIMEOUT;
        }

        private void segment(Host host, int flags, int sequence, int offset, int size) {
            packet.length = HEADER + size;
            packet.put16(Ip.HEADER, 80);
            packet.put16(Ip.HEADER + 2, 80);
            packet.put32(Ip.HEADER + 4, sequence);
            packet.put32(Ip.HEADER + 8, expected);
            packet.put16(Ip.HEADER + 12, 0x5000 | flags);
            packet.put16(Ip.HEADER + 14, 4 * SEGMENT);
            packet.put32(Ip.HEADER + 16, 0);
            for (int i = 0; i < size; i++) {
                packet.put8(HEADER + i, stream.at(offset + i));
            }
            Ip.header(packet, number(), host.address, peer, 0);
            packet.put16(Ip.HEADER + 16, packet.checksum(Ip.HEADER, packet.length, Ip.pseudo(packet)));
            host.send(packet, number(), peer);
        }

        /** The position in the stream of a sequence number; the SYN takes the first. */
        private int offset(int sequence) {
            return sequence - start - 1;
        }

        void tick(Host host) {
            if (state == ESTABLISHED) {
                fill(host);
            }
            boolean open = unacknowledged != nextToSend;
            if (!open || state == DONE || --timer > 0) {
                return;
            }
            timer = TIMEOUT;
            retransmissions++;
            switch (state) {
                case SYN_SENT:
                    segment(host, SYN, start, 0, 0);
                    break;
                case SYN_RECEIVED:
                    segment(host, SYN | ACK, start, 0, 0);
                    break;
                case FIN_WAIT:
                case CLOSE_WAIT:
                    segment(host, FIN | ACK, nextToSend - 1, 0, 0);
                    break;
                default:
                    nextToSend = unacknowledged;
                    fill(host);
                    break;
            }
        }

        /** Sends what the window allows; the FIN when everything has been acknowledged. */
        private void fill(Host host) {
            while (nextToSend - unacknowledged < 4 * SEGMENT) {
                int offset = offset(nextToSend);
                int size = stream.length() - offset;
                if (size <= 0) {
                    break;
                }
                if (size > SEGMENT) {
                    size = SEGMENT;
                }
                segment(host, ACK, nextToSend, offset, size);
                nextToSend += size;
            }
            if (stream.length() > 0 && offset(unacknowledged) == stream.length()) {
                state = FIN_WAIT;
                segment(host, FIN | ACK, nextToSend, 0, 0);
                nextToSend++;
                timer = TIMEOUT;
            }
        }

        @Override
        public void receive(Host host, Packet p, int from) {
            if (p.length < HEADER || p.checksum(Ip.HEADER, p.length, Ip.pseudo(p)) != 0) {
                host.dropped++;
                return;
            }
            int flags = p.u8(Ip.HEADER + 13);
            int sequence = p.u32(Ip.HEADER + 4);
            if ((flags & SYN) != 0) {
                handshake(host, from, flags, sequence);
                return;
            }
            if ((flags & ACK) != 0) {
                acknowledged(p.u32(Ip.HEADER + 8));
            }
            if (state == SYN_RECEIVED && unacknowledged == nextToSend) {
                state = ESTABLISHED;
            }
            int size = p.length - HEADER;
            if (size > 0 || (flags & FIN) != 0) {
                take(host, p, sequence, size, (flags & FIN) != 0);
            }
        }

        private void handshake(Host host, int from, int flags, int sequence) {
            if (state == LISTEN || state == SYN_RECEIVED) {
                peer = from;
                begin(5000);
                expected = sequence + 1;
                state = SYN_RECEIVED;
                segment(host, SYN | ACK, start, 0, 0);
            } else if ((flags & ACK) != 0 && (state == SYN_SENT || state == ESTABLISHED)) {
                expected = sequence + 1;
                unacknowledged = state == SYN_SENT ? nextToSend : unacknowledged;
                state = ESTABLISHED;
                segment(host, ACK, nextToSend, 0, 0);
            }
        }

        private void acknowledged(int acknowledgement) {
            int fresh = acknowledgement - unacknowledged;
            if (fresh > 0 && fresh <= nextToSend - unacknowledged) {
                unacknowledged = acknowledgement;
                timer = TIMEOUT;
                if (state == FIN_WAIT && unacknowledged == nextToSend) {
                    state = DONE;
                }
            }
        }

        private void take(Host host, Packet p, int sequence, int size, boolean last) {
            if (sequence == expected) {
                for (int i = 0; i < size; i++) {
                    stream.took(p.u8(HEADER + i));
                }
                expected += size;
                if (last) {
                    expected++;
                    state = DONE;
                }
            }
            segment(host, ACK, nextToSend, 0, 0);
        }
    }

    /** What a connection carries. */
    abstract static class Stream {
        int received;
        int sum = 1;

        abstract int length();

        abstract int at(int offset);

        void took(int value) {
            received++;
            sum = sum * 31 + value;
        }
    }

    /** Sends a text that is computed. */
    static final class Sending extends Stream {
        @Override
        int length() {
            return TRANSFER;
        }

        @Override
        int at(int offset) {
            return offset * 7 + (offset >> 5) & 0xFF;
        }
    }

    /** Sends nothing. */
    static final class Receiving extends Stream {
        @Override
        int length() {
            return 0;
        }

        @Override
        int at(int offset) {
            throw new IllegalStateException();
        }
    }

    private static int checksum;
    private static int received;

    /** Pings, datagrams and a transfer, until the transfer is done. */
    static void measured() {
        LossyLink there = new LossyLink(12345);
        LossyLink back = new LossyLink(54321);
        Icmp clientIcmp = new Icmp();
        Icmp serverIcmp = new Icmp();
        Remembering answers = new Remembering();
        Udp clientUdp = new Udp(answers);
        Udp serverUdp = new Udp(new Summing());
        Tcp clientTcp = new Tcp(new Sending());
        Tcp serverTcp = new Tcp(new Receiving());
        Host client = new Host(0x0A000001, there, back, clientIcmp, clientUdp, clientTcp);
        Host server = new Host(0x0A000002, back, there, serverIcmp, serverUdp, serverTcp);
        serverTcp.listen();
        clientTcp.connect(client, server.address);
        int step = 0;
        for (; step < STEPS && clientTcp.state != Tcp.DONE; step++) {
            if (step % 10 == 0) {
                clientIcmp.ping(client, server.address, step);
            }
            if (step % 7 == 0) {
                clientUdp.send(client, server.address, 9, 9, step);
            }
            clientTcp.tick(client);
            server.poll();
            serverTcp.tick(server);
            client.poll();
        }
        int sum = serverTcp.stream.sum;
        sum = sum * 31 + step;
        sum = sum * 31 + clientTcp.retransmissions + serverTcp.retransmissions;
        sum = sum * 31 + clientIcmp.returned + answers.count + answers.last;
        sum = sum * 31 + client.dropped + server.dropped + there.lost + back.lost;
        received = serverTcp.stream.received;
        checksum = sum;
    }

    public static void main(String[] args) {
        measured();
        System.out.println("tcp/ip stack: " + received + " of " + TRANSFER + " bytes received, checksum " + checksum);
    }
}
